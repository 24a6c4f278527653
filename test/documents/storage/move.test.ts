import { truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { FolderStorage } from '../../../src/documents/storage/folder.ts'
import { moveDocuments } from '../../../src/documents/storage/move.ts'
import type { StoredDocument } from '../../../src/documents/storage/storage.ts'
import { newFolder } from '../../tools/new-folder.ts'
import { anything, body, collected } from './suite.ts'

const never = new AbortController().signal

async function scene() {
  const folder = newFolder()
  const [from, to] = [new FolderStorage(join(folder, 'from')), new FolderStorage(join(folder, 'to'))]
  const kept: StoredDocument[] = []
  for (const text of ['one', 'two', 'three']) kept.push(await from.keep(body(text), anything))
  return { from, to, kept, fileOf: (path: string) => join(folder, 'from', path) }
}

async function* named(kept: readonly StoredDocument[]) {
  yield* kept
}

it('copies every document, and the second time none', async () => {
  const { from, to, kept } = await scene()
  expect(await moveDocuments(named(kept), from, to, never)).toEqual({ files: 3, bytes: 11, copied: 3, faulty: [] })
  expect(await collected(to)).toEqual(await collected(from))
  expect(await moveDocuments(named(kept), from, to, never)).toEqual({ files: 3, bytes: 11, copied: 0, faulty: [] })
})

it('copies nothing that is damaged or missing, and reports it', async () => {
  const { from, to, kept, fileOf } = await scene()
  const [cut, changed, missing] = kept.map(({ path }) => path) as [string, string, string]
  await truncate(fileOf(cut), 1)
  await writeFile(fileOf(changed), 'owt')
  await from.remove(missing)
  expect(await moveDocuments(named(kept), from, to, never)).toMatchObject({ files: 3, copied: 0, faulty: [cut, changed, missing] })
  expect(await collected(to)).toEqual([])
})

it('only looks for documents that stay where they are', async () => {
  const { from, kept } = await scene()
  expect(await moveDocuments(named(kept), from, null, never)).toEqual({ files: 3, bytes: 11, copied: 0, faulty: [] })
  await from.remove(kept[0]?.path ?? '')
  expect(await moveDocuments(named(kept), from, null, never)).toMatchObject({ faulty: [kept[0]?.path] })
})

it('continues where it was interrupted', async () => {
  const { from, to, kept } = await scene()
  const stop = new AbortController()
  async function* stopping() {
    yield* kept.slice(0, 1)
    stop.abort(new Error('stopped'))
    yield* kept.slice(1)
  }
  await expect(moveDocuments(stopping(), from, to, stop.signal)).rejects.toThrow('stopped')
  expect(await moveDocuments(named(kept), from, to, never)).toMatchObject({ copied: 2 })
})
