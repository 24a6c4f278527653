import { execFile } from 'node:child_process'
import { readdir, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { FolderStorage } from '../../../src/documents/storage/folder.ts'
import { newFolder } from '../../tools/new-folder.ts'
import { collected, none, sha256 } from './suite.ts'

const TEXT = 'a document that is kept while the process dies'
const CHILD = join(import.meta.dirname, 'child.ts')

interface Ended {
  readonly calls: readonly string[]
  readonly isKilled: boolean
}

async function keepInChild(folder: string, killAt: number): Promise<Ended> {
  const run = promisify(execFile)(process.execPath, [CHILD, folder, TEXT, String(killAt)])
  const { stdout, signal } = await run.then(
    ({ stdout }) => ({ stdout, signal: null }),
    (error: { stdout: string; signal: string | null }) => error,
  )
  return { calls: stdout.trim().split('\n'), isKilled: signal === 'SIGKILL' }
}

/** Keeps a document where files may not be longer than it. The limit acts as a full disk. */
async function keepWhenFull(folder: string, bytes: number): Promise<string> {
  const command = ['prlimit', `--fsize=${bytes}`, process.execPath, CHILD, folder, TEXT, '0'] as const
  const { stdout } = await promisify(execFile)(command[0], command.slice(1))
  return stdout.trim().split('\n').at(-1) ?? ''
}

const notYetThere = () => join(newFolder(), 'documents')

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
}

it('makes the bytes durable before the name, and the name before it answers', async () => {
  const { calls } = await keepInChild(notYetThere(), 0)
  const inOrder = ['open', 'file.writeFile', 'file.writeFile', 'file.sync', 'rename', 'open', 'file.sync']
  const hash = sha256(TEXT)
  expect(calls.at(-1)).toBe(`${hash.slice(0, 2)}/${hash}`)
  let at = calls.indexOf('file.writeFile') - 1
  for (const call of inOrder) {
    const next = calls.indexOf(call, at)
    expect(next, `${call} after ${calls.slice(0, at).join(', ')}`).toBeGreaterThanOrEqual(at)
    at = next + 1
  }
})

it('leaves no part of a document under its name, and nothing that a later start does not remove, at any point of a kill', async () => {
  const { calls } = await keepInChild(notYetThere(), 0)
  const steps = calls.length - 1
  expect(steps).toBeGreaterThan(8)
  for (let killAt = 1; killAt <= steps; killAt++) {
    const folder = notYetThere()
    expect((await keepInChild(folder, killAt)).isKilled, `at ${calls[killAt - 1]}`).toBe(true)
    const storage = new FolderStorage(folder)
    for (const path of await collected(storage)) expect(await textOf(await storage.read(path))).toBe(TEXT)
    const before = new Date(Date.now() - 2 * 60 * 60_000)
    for (const file of await filesIn(folder)) await utimes(file, before, before)
    await storage.sweep(none)
    expect(await filesIn(folder), `killed at ${calls[killAt - 1]}`).toEqual([])
    await keepInChild(folder, 0)
    expect(await collected(storage)).toHaveLength(1)
  }
})

it('keeps nothing of a document that does not fit the disk, and says so', async () => {
  const folder = notYetThere()
  for (const bytes of [0, 1, TEXT.length - 1]) {
    expect(await keepWhenFull(folder, bytes)).toBe(
      `a file in ${folder} may not be that large: raise the limit of file sizes of this process (ulimit -f)`,
    )
    expect(await filesIn(folder)).toEqual([])
  }
  expect(await keepWhenFull(folder, TEXT.length)).toMatch(/^[0-9a-f]{2}\/[0-9a-f]{64}$/)
})
