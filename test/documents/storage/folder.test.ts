import { mkdir, readdir, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { FolderStorage } from '../../../src/documents/storage/folder.ts'
import { diskError } from '../../../src/documents/storage/spool.ts'
import { pathOf, StorageUnavailable } from '../../../src/documents/storage/storage.ts'
import { newFolder } from '../../tools/new-folder.ts'
import { anything, body, collected, none, type Rig, sha256, storageSuite } from './suite.ts'

const notYetThere = () => join(newFolder(), 'data', 'documents')

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
}

async function age(folder: string): Promise<void> {
  const before = new Date(Date.now() - 2 * 60 * 60_000)
  for (const file of await filesIn(folder)) await utimes(file, before, before)
}

async function rig(): Promise<Rig> {
  const folder = notYetThere()
  return {
    storage: new FolderStorage(folder),
    all: () => filesIn(folder),
    age: () => age(folder),
    leaveHalf: () => writeFile(join(folder, '.incoming-left'), 'half'),
  }
}

storageSuite('a folder', rig)

it('creates the folder for its own user alone', async () => {
  const folder = notYetThere()
  const { path } = await new FolderStorage(folder).keep(body('first'), anything)
  expect((await stat(folder)).mode & 0o077).toBe(0)
  expect((await stat(join(folder, path))).mode & 0o177).toBe(0)
})

it('leaves files of others in the folder alone', async () => {
  const folder = notYetThere()
  const storage = new FolderStorage(folder)
  await mkdir(join(folder, 'ab'), { recursive: true })
  const others = ['notes.txt', '.hidden', join('ab', 'notes.txt'), join('ab', sha256('x').replace(/^../, 'cd'))]
  for (const name of others) await writeFile(join(folder, name), 'of others')
  await age(folder)
  expect(await storage.sweep(none)).toBe(0)
  expect(await collected(storage)).toEqual([])
  expect(await filesIn(folder)).toHaveLength(others.length)
})

it('decides again about files that a killed sweep set aside', async () => {
  const folder = notYetThere()
  const storage = new FolderStorage(folder)
  await mkdir(folder, { recursive: true })
  const [known, unknown] = [sha256('known'), sha256('unknown')]
  for (const hash of [known, unknown]) {
    await mkdir(join(folder, hash.slice(0, 2)))
    await writeFile(join(folder, `.removing-${hash}`), hash === known ? 'known' : 'unknown')
  }
  await age(folder)
  expect(await storage.sweep(() => Promise.resolve(new Set([pathOf(known)])))).toBe(1)
  expect(await filesIn(folder)).toEqual([join(folder, pathOf(known))])
})

it('says in a sentence what hinders it, and what to do', async () => {
  const folder = notYetThere()
  await mkdir(join(folder, '..'), { recursive: true })
  await writeFile(folder, 'a file')
  const storage = new FolderStorage(folder)
  for (const begin of [() => storage.keep(body('x'), anything), () => storage.check(), () => storage.sweep(none)]) {
    const attempt = begin()
    await expect(attempt).rejects.toThrow(StorageUnavailable)
    await expect(attempt).rejects.toThrow(`${folder} is not a folder: name a folder in DOCUMENTS_DIR`)
  }
})

it.each([
  ['ENOSPC', 'the disk of /d is full: free space there, or move the folder and name it in DOCUMENTS_DIR'],
  ['EROFS', '/d is read-only: mount it writable, or name another folder in DOCUMENTS_DIR'],
  ['EACCES', 'no permission to write in /d: let the user of this process create, rename and remove files there'],
  ['EBUSY', 'cannot keep documents in /d: EBUSY: resource busy'],
])('describes %s in words', (code, sentence) => {
  const error = Object.assign(new Error(`${code}: resource busy`), { code })
  expect(diskError('/d', error).message).toEqual(sentence)
})
