import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const root = new URL('../..', import.meta.url)
/** Licenses that ask for no more than that they are passed on. */
const PERMISSIVE = [
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'CC0-1.0',
  'ISC',
  'MIT',
  'MIT-0',
  'Unlicense',
  'Zlib',
]

interface Component {
  readonly name: string
  readonly version: string
  readonly licenses: readonly { readonly license?: { readonly id: string }; readonly expression?: string }[]
}

describe('the bill of materials', () => {
  let components: readonly Component[]
  let texts: string
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'materials-'))
    await promisify(execFile)('node', ['test/tools/bill-of-materials.ts', folder], { cwd: root })
    const bom = JSON.parse(await readFile(join(folder, 'sbom.cdx.json'), 'utf8')) as { components: Component[] }
    components = bom.components
    texts = await readFile(join(folder, 'THIRD-PARTY-LICENSES.txt'), 'utf8')
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  it('names every package that the product asks for, in the version that is locked, and none for development', async () => {
    const { dependencies, devDependencies } = JSON.parse(await readFile(new URL('package.json', root), 'utf8')) as {
      dependencies: Record<string, string>
      devDependencies: Record<string, string>
    }
    const listed = components.map(({ name, version }) => `${name} ${version}`)
    expect(listed).toEqual(expect.arrayContaining(Object.entries(dependencies).map((pair) => pair.join(' '))))
    expect(components.map(({ name }) => name)).not.toEqual(expect.arrayContaining(['vitest']))
    expect(Object.keys(devDependencies)).toContain('vitest')
  })

  it('names a permissive license for each, and brings its text', () => {
    const named = components.flatMap(({ licenses }) => licenses.map(({ license, expression }) => String(license?.id ?? expression)))
    // Under "(MIT AND Zlib)" both apply.
    const ids = new Set(named.flatMap((each) => each.replace(/^\((.*)\)$/, '$1').split(' AND ')))
    expect([...ids].filter((id) => !PERMISSIVE.includes(id))).toEqual([])
    for (const { name, version } of components) expect(texts).toContain(`\n${name} ${version}: `)
    expect(texts).toContain('Permission is hereby granted')
  })
})
