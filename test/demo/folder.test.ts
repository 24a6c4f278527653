import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { UsageError } from '../../src/base/errors.ts'
import { makeDemoFolder } from '../../src/demo/folder.ts'

const root = mkdtempSync(join(tmpdir(), 'submission-mirror-demo-folder-'))
const before = process.cwd()
beforeAll(() => process.chdir(root))
afterAll(() => {
  process.chdir(before)
  rmSync(root, { recursive: true, force: true })
})

describe('the folder of the demo', () => {
  it('is new for each run, even in the same second', () => {
    const made = [1, 2, 3].map(() => makeDemoFolder(undefined, '20261122120000'))
    expect(made).toEqual(['', '-2', '-3'].map((end) => join('data', `demo-20261122120000${end}`)))
    for (const folder of made) expect(existsSync(folder)).toBe(true)
  })

  it('is the chosen one, unless it contains the database of an earlier demo', () => {
    expect(makeDemoFolder(join('mine', 'here'), '')).toBe(join('mine', 'here'))
    expect(makeDemoFolder(join('mine', 'here'), '')).toBe(join('mine', 'here'))
    writeFileSync(join('mine', 'here', 'mirror.db'), '')
    expect(() => makeDemoFolder(join('mine', 'here'), '')).toThrow(/^mine.here contains the database of an earlier demo\. Choose another/)
  })

  it('must be writable', () => {
    writeFileSync('file', '')
    expect(() => makeDemoFolder(join('file', 'demo'), '')).toThrow(UsageError)
    expect(() => makeDemoFolder(join('file', 'demo'), '')).toThrow(/^The demo can't create its folder \(ENOTDIR.*--folder$/)
  })
})
