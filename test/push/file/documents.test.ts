import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { TransientError } from '../../../src/base/errors.ts'
import type { FileDestination } from '../../../src/config/config.ts'
import { FolderStorage } from '../../../src/documents/storage/folder.ts'
import { documentOpener } from '../../../src/documents/storage/opener.ts'
import type { StoredDocument } from '../../../src/documents/storage/storage.ts'
import type { PushItem } from '../../../src/push/contract/delivery.ts'
import type { OpenDocument } from '../../../src/push/contract/documents.ts'
import { anything, body } from '../../documents/storage/suite.ts'
import { newFolder } from '../../tools/new-folder.ts'
import { fileDestination, fileKind, pushItem, send, submissionOf } from './support.ts'

const said = async () => ({ name: 'Quote for Jane.pdf', contentType: 'application/pdf' })

interface Manifest {
  readonly rows: number
  readonly files: readonly { readonly name: string }[]
  readonly documents?: readonly Record<string, unknown>[]
}

function scene(changes: Partial<FileDestination> = {}) {
  const [drop, kept] = [newFolder(), newFolder()]
  const storage = new FolderStorage(kept)
  const destination = fileDestination({ type: 'folder', path: drop }, { documents: true, ...changes })
  const kind = fileKind(destination, systemClock, documentOpener(storage, said))
  return { drop, kept, storage, kind }
}

/** The change that stored document `n`. */
function stored(n: number, { path, sha256, bytes }: StoredDocument, changes: Partial<PushItem> = {}): PushItem {
  const after = { sha256, stored_bytes: bytes, stored_path: path, stored_at: '2026-11-21T12:00:00.000000Z' }
  return pushItem(n, { entity: 'documents', entityId: JSON.stringify([`document-${n}`]), operation: 'update', after, ...changes })
}

function manifestsIn(drop: string): Manifest[] {
  return namesIn(drop, /manifest/).map((name) => JSON.parse(readFileSync(join(drop, name), 'utf8')) as Manifest)
}

function namesIn(drop: string, wanted: RegExp): string[] {
  return readdirSync(drop)
    .filter((name) => wanted.test(name))
    .sort()
}

it('copies a stored document next to the rows, and names it in the manifest', async () => {
  const { drop, storage, kind } = scene()
  const [pdf, other] = [await storage.keep(body('%PDF-1.7 quote'), anything), await storage.keep(body('a text'), anything)]
  const unstored = pushItem(4, { entity: 'documents', entityId: '["document-4"]', after: { origin: 'attachment', stored_path: null } })
  const outcomes = await send(kind, [pushItem(1), stored(2, pdf), stored(3, other), unstored])
  expect(outcomes.map(({ type }) => type)).toEqual(Array(4).fill('delivered'))
  const [manifest] = manifestsIn(drop)
  const facts = (n: number) => ({ account: 'acme', submission_id: submissionOf(n), document_key: `document-${n}` })
  expect(manifest?.rows).toBe(4)
  expect(manifest?.documents).toEqual([
    { name: `agency_document_${pdf.sha256}.pdf`, sha256: pdf.sha256, bytes: 14, ...facts(2) },
    { name: `agency_document_${other.sha256}.bin`, sha256: other.sha256, bytes: 6, ...facts(3) },
  ])
  expect(readFileSync(join(drop, `agency_document_${pdf.sha256}.pdf`), 'utf8')).toBe('%PDF-1.7 quote')
  expect(namesIn(drop, /\.part$/)).toEqual([])
})

it('copies the same bytes once, and the same again when a delivery is repeated', async () => {
  const { drop, storage, kind } = scene()
  const one = await storage.keep(body('%PDF-'), anything)
  await send(kind, [stored(1, one), stored(2, one)])
  const before = namesIn(drop, /./)
  await send(kind, [stored(1, one), stored(2, one)])
  expect(namesIn(drop, /./)).toEqual(before)
  expect(before).toHaveLength(3)
  expect(manifestsIn(drop)[0]?.documents).toHaveLength(2)
})

it('reports a missing or damaged document, and delivers the rows', async () => {
  const { drop, kept, storage, kind } = scene()
  const [lost, damaged] = [await storage.keep(body('lost'), anything), await storage.keep(body('damaged'), anything)]
  await storage.remove(lost.path)
  writeFileSync(join(kept, damaged.path), 'DAMAGED')
  const outcomes = await send(kind, [stored(1, lost), stored(2, damaged)])
  expect(outcomes.map(({ type }) => type)).toEqual(['delivered', 'delivered'])
  expect(manifestsIn(drop)[0]?.documents).toMatchObject([
    { name: null, bytes: null, sha256: lost.sha256 },
    { name: null, bytes: null, sha256: damaged.sha256 },
  ])
  expect(namesIn(drop, /document_|\.part$/)).toEqual([])
})

it('copies no documents by default', async () => {
  const { drop, storage, kind } = scene({ documents: false })
  await send(kind, [stored(1, await storage.keep(body('%PDF-'), anything))])
  expect(manifestsIn(drop)[0]).not.toHaveProperty('documents')
  expect(namesIn(drop, /./)).toHaveLength(2)
})

it('takes the documents for which there is time, and the rows before the next', async () => {
  const [drop, storage] = [newFolder(), new FolderStorage(newFolder())]
  const [one, two] = [await storage.keep(body('one'), anything), await storage.keep(body('two'), anything)]
  let steady = 0
  const open = documentOpener(storage, said)
  const openSlowly: OpenDocument = async (document) => {
    steady = 9_000
    return await open(document)
  }
  const destination = fileDestination({ type: 'folder', path: drop }, { documents: true, timeoutMs: 10_000 })
  const kind = fileKind(destination, { ...systemClock, steady: () => steady }, openSlowly)
  const outcomes = await send(kind, [pushItem(1), stored(2, one), stored(3, two)])
  expect(outcomes.map(({ type }) => type)).toEqual(['delivered', 'delivered', 'not_attempted'])
  expect(manifestsIn(drop)[0]?.documents).toMatchObject([{ sha256: one.sha256 }])
})

it('writes nothing while the documents cannot be read', async () => {
  const [drop, file] = [newFolder(), join(newFolder(), 'a file')]
  const open = () => Promise.reject(new TransientError(`${file} is away`))
  const kind = fileKind(fileDestination({ type: 'folder', path: drop }, { documents: true }), systemClock, open)
  const one = { path: `ab/${'ab'.repeat(32)}`, sha256: 'ab'.repeat(32), bytes: 1 }
  expect(await send(kind, [pushItem(1), stored(2, one)])).toMatchObject([{ type: 'failed', permanent: false }, { type: 'failed' }])
  expect(namesIn(drop, /./)).toEqual([])
})
