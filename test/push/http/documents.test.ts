import { randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { TransientError } from '../../../src/base/errors.ts'
import type { HttpDestination } from '../../../src/config/config.ts'
import { FolderStorage } from '../../../src/documents/storage/folder.ts'
import { documentOpener } from '../../../src/documents/storage/opener.ts'
import type { StoredDocument } from '../../../src/documents/storage/storage.ts'
import { MASK } from '../../../src/model/masking.ts'
import type { DeliveryKind, Outcome, PushItem } from '../../../src/push/contract/delivery.ts'
import type { OpenDocument } from '../../../src/push/contract/documents.ts'
import { checkTemplates } from '../../../src/push/http/check-templates.ts'
import { notSentReason } from '../../../src/push/send/item.ts'
import { anything, body } from '../../documents/storage/suite.ts'
import { newFolder } from '../../tools/new-folder.ts'
import { json } from '../../upstream/service.ts'
import { destinationTo, itemOf, openKind, secret, sendOne, serve } from './support.ts'

const TEXT = `%PDF-1.7 ${randomBytes(100_000).toString('hex')}`
const RAW = {
  method: 'PUT',
  url: '$url(settings.base_url, "files", document.sha256)',
  headers: {},
  format: 'file',
  body: 'document.file',
} as const

const said = async () => ({ name: 'Quote for Jane.pdf', contentType: 'application/pdf' })

async function keeping(bytes: string | Uint8Array): Promise<{ stored: StoredDocument; storage: FolderStorage; open: OpenDocument }> {
  const storage = new FolderStorage(newFolder())
  return { storage, stored: await storage.keep(body(bytes), anything), open: documentOpener(storage, said) }
}

function storing({ sha256, bytes, path }: StoredDocument): PushItem {
  const after = { sha256, stored_bytes: bytes, stored_path: path, stored_at: '2026-03-04T05:06:07.000000Z' }
  return itemOf({ entity: 'documents', entityId: '["key-1"]', operation: 'update', after })
}

/** The outcome of the attempt after one that left the document to be uploaded. */
async function continued(kind: DeliveryKind, item: PushItem, first: Outcome): Promise<Outcome> {
  if (first.type !== 'record_taken') throw new Error(`the first attempt is ${first.type}`)
  return await sendOne(kind, { ...item, progress: first.progress })
}

function kindTo(url: string, own: Partial<HttpDestination>, open: OpenDocument) {
  return openKind(destinationTo(url, { documents: true, ...own }), systemClock, open)
}

it('streams a document as the whole body, with its length', async () => {
  const service = await serve()
  const { stored, open } = await keeping(TEXT)
  expect(await sendOne(kindTo(service.baseUrl, { request: RAW }, open), storing(stored))).toMatchObject({ type: 'delivered' })
  const [request] = service.arrived
  expect(request?.url).toBe(`/api/v1/files/${stored.sha256}`)
  expect(request?.headers).toMatchObject({ 'content-length': String(TEXT.length), 'content-type': 'application/octet-stream' })
  expect(request?.body).toBe(TEXT)
})

it('puts documents of any length into JSON as base64', async () => {
  const service = await serve()
  const folder = newFolder()
  const storage = new FolderStorage(folder)
  const request = { ...RAW, format: 'json', body: '{"id": document.key, "data": document.base64, "size": document.bytes}' } as const
  const kind = kindTo(service.baseUrl, { request }, documentOpener(storage, said))
  const contents = [1, 2, 3, 4, 65_537, 200_000].map((length) => randomBytes(length))
  for (const bytes of contents)
    expect(await sendOne(kind, storing(await storage.keep(body(bytes), anything)))).toMatchObject({ type: 'delivered' })
  expect(service.arrived.map(({ body: text }) => JSON.parse(text) as unknown)).toEqual(
    contents.map((bytes) => ({ id: 'key-1', data: bytes.toString('base64'), size: bytes.length })),
  )
})

it('sends a form with a document in it', async () => {
  const service = await serve()
  const { stored, open } = await keeping(TEXT)
  const form = '{"note": "a \\"b\\"", "upload": {"file": document.file, "name": "quote.pdf", "type": "application/pdf"}, "none": null}'
  const request = { ...RAW, format: 'multipart', body: form } as const
  expect(await sendOne(kindTo(service.baseUrl, { request }, open), storing(stored))).toMatchObject({ type: 'delivered' })
  const { headers, body: text = '' } = service.arrived[0] ?? {}
  const parsed = await new Response(text, { headers: { 'content-type': String(headers?.['content-type']) } }).formData()
  const file = parsed.get('upload') as File
  expect([parsed.get('note'), file.name, file.type, await file.text()]).toEqual(['a "b"', 'quote.pdf', 'application/pdf', TEXT])
  expect([...parsed.keys()]).toEqual(['note', 'upload'])
})

it('puts no document into a form of fields, where its bytes would come to harm', async () => {
  const service = await serve()
  const { stored, open } = await keeping(TEXT)
  const request = { ...RAW, format: 'form', body: '{"data": document.base64}' } as const
  const failed = { type: 'failed', permanent: true, error: 'a form cannot contain a document; use multipart' }
  expect(await sendOne(kindTo(service.baseUrl, { request }, open), storing(stored))).toMatchObject(failed)
  expect(service.arrived).toEqual([])
})

it('sends a second request with the answer of the first as input, and the credentials only to the first host', async () => {
  const files = await serve()
  const { stored, open } = await keeping(TEXT)
  const service = await serve((_, response) => json(response, { id: 'attachment-9', put: `${files.baseUrl}/put/9` }))
  const own = {
    auth: { type: 'bearer', token: secret('a-token-that-is-long') },
    request: { ...RAW, method: 'POST', format: 'json', body: '{"name": document.key}' },
    upload: { ...RAW, url: 'body.put', headers: { 'x-reference': 'message_id' } },
    remoteId: 'body.id',
  } as const
  const kind = kindTo(service.baseUrl, own, open)
  const first = await sendOne(kind, storing(stored))
  expect(first).toMatchObject({ type: 'record_taken', status: 200, remoteId: 'attachment-9' })
  expect(files.arrived).toEqual([])
  expect(await continued(kind, storing(stored), first)).toMatchObject({ type: 'delivered', status: 200 })
  expect(service.arrived.map(({ headers }) => headers.authorization)).toEqual(['Bearer a-token-that-is-long'])
  expect(files.arrived.map((put) => [put.method, put.url, put.body === TEXT, put.headers.authorization])).toEqual([
    ['PUT', '/api/v1/put/9', true, undefined],
  ])
})

it.each([403, 503])('has not delivered a document if its second request is answered %i', async (status) => {
  const { stored, open } = await keeping(TEXT)
  const files = await serve((_, response) => json(response, {}, status))
  const service = await serve((_, response) => json(response, { put: files.baseUrl }))
  const own = { request: { ...RAW, format: 'json', body: '{"a": 1}' }, upload: { ...RAW, url: 'body.put' }, suspendOn: [403] } as const
  const kind = kindTo(service.baseUrl, own, open)
  const failed = { type: 'failed', status, permanent: false, error: expect.stringMatching(`^upload: answered ${status}`) }
  expect(await continued(kind, storing(stored), await sendOne(kind, storing(stored)))).toMatchObject(failed)
})

it('says that the beginning of a long answer does not name where the document goes', async () => {
  const { stored, open } = await keeping(TEXT)
  const service = await serve((_, response) => json(response, { filler: 'x'.repeat(300_000), put: 'http://127.0.0.1/put' }))
  const own = { request: { ...RAW, format: 'json', body: '{"a": 1}' }, upload: { ...RAW, url: 'body.put' } } as const
  const kind = kindTo(service.baseUrl, own, open)
  const first = await sendOne(kind, storing(stored))
  expect(JSON.stringify(first).length).toBeLessThan(300_000)
  const error =
    'the target has the record, but the `upload` request cannot be built from the answer to `request`, which is longer than 262144 characters: upload.url did not return a URL'
  expect(await continued(kind, storing(stored), first)).toMatchObject({ type: 'failed', permanent: true, error })
})

it('sends nothing of a document that is missing, or cannot be read now', async () => {
  const service = await serve()
  const { stored, storage, open } = await keeping(TEXT)
  await storage.remove(stored.path)
  const kind = kindTo(service.baseUrl, { request: RAW }, open)
  const gone = { type: 'failed', permanent: true, error: expect.stringMatching(/is no longer stored/) }
  expect(await sendOne(kind, storing(stored))).toMatchObject(gone)
  const away = kindTo(service.baseUrl, { request: RAW }, () => Promise.reject(new TransientError('the bucket is away')))
  expect(await sendOne(away, storing(stored))).toMatchObject({ type: 'failed', permanent: false, error: 'the bucket is away' })
  expect(service.arrived).toEqual([])
})

it('counts a document as not delivered that became shorter', async () => {
  const service = await serve()
  const { stored, open } = await keeping(TEXT)
  const longer: OpenDocument = async (document) => {
    const found = await open(document)
    return found && { ...found, bytes: found.bytes + 1 }
  }
  const outcome = await sendOne(kindTo(service.baseUrl, { request: RAW }, longer), storing(stored))
  expect(outcome.type).not.toBe('delivered')
  expect(service.arrived).toEqual([])
})

it('shows no document where the destination does not ask for them, and of no other change', async () => {
  const service = await serve()
  const { stored, open } = await keeping(TEXT)
  const request = { ...RAW, url: '$url(settings.base_url, "notes")', format: 'json', body: '{"has": $exists(document.file)}' } as const
  await sendOne(kindTo(service.baseUrl, { request, documents: false }, open), storing(stored))
  await sendOne(kindTo(service.baseUrl, { request }, open), itemOf())
  expect(service.arrived.map(({ body: text }) => text)).toEqual(['{"has":false}', '{"has":false}'])
})

it('skips changes of documents that store none, and sends a stored one though its id at the target is not known', () => {
  const destination = destinationTo('http://127.0.0.1/', { documents: true, update: RAW, remoteId: 'body.id' })
  const unstored = itemOf({ entity: 'documents', entityId: '["key-1"]', after: { error: 'it answered 404' }, operation: 'update' })
  expect(notSentReason(destination, unstored, false)).toBe('not sent: this change stores no document')
  expect(notSentReason(destination, { ...unstored, after: { stored_path: `ab/${'ab'.repeat(32)}` } }, false)).toBeNull()
})

it('skips a document that is restated after a restore: each would be attached again, under another id', () => {
  const destination = destinationTo('http://127.0.0.1/', { documents: true })
  const row = itemOf({ entity: 'documents', entityId: '["key-1"]', after: { stored_path: `ab/${'ab'.repeat(32)}` }, snapshot: true })
  expect(notSentReason(destination, { ...row, operation: 'insert' }, false)).toBeNull()
  expect(notSentReason(destination, { ...row, operation: 'update' }, false)).toBe('not sent: the document was sent before')
  expect(notSentReason(destination, { ...row, operation: 'update' }, true)).toBeNull()
})

it('sends that a document left the filter without the document, where its request can say so', async () => {
  const service = await serve()
  const { stored, open } = await keeping(TEXT)
  const body = '{"left": left_filter, "has": $exists(document.file)}'
  const request = { ...RAW, url: '$url(settings.base_url, "notes")', format: 'json', body } as const
  const leaving = { ...storing(stored), leftFilter: true }
  await sendOne(kindTo(service.baseUrl, { request }, open), leaving)
  expect(service.arrived.map(({ body: text }) => text)).toEqual(['{"left":true,"has":false}'])
  const reasonAt = (own: Partial<HttpDestination>) =>
    notSentReason(destinationTo('http://127.0.0.1/', { documents: true, ...own }), leaving, false)
  expect(reasonAt({ request })).toBeNull()
  expect(reasonAt({ request: RAW })).toBe('not sent: the record left the filter, and a file request cannot report this')
})

it('reports at startup a body that is a file without documents', () => {
  const destination = destinationTo('http://127.0.0.1/', { documents: false, request: RAW })
  expect(checkTemplates(destination)).toEqual(['destination ams: request: format file needs documents: true'])
  expect(checkTemplates({ ...destination, documents: true })).toEqual([])
})

it('names a document only where personal_fields names its name', async () => {
  const service = await serve()
  const { stored, open } = await keeping(TEXT)
  const request = { ...RAW, format: 'json', body: '{"name": document.name, "type": document.content_type}' } as const
  await sendOne(kindTo(service.baseUrl, { request }, open), storing(stored))
  await sendOne(kindTo(service.baseUrl, { request, personalFields: ['documents.name'] }, open), storing(stored))
  expect(service.arrived.map(({ body: text }) => JSON.parse(text) as unknown)).toEqual([
    { name: null, type: 'application/pdf' },
    { name: 'Quote for Jane.pdf', type: 'application/pdf' },
  ])
})

it('shows in a preview the document and its upload, without sending anything', async () => {
  const service = await serve()
  const { stored, open } = await keeping('%PDF-1.7')
  const auth = { type: 'bearer', token: secret('the-token') } as const
  const url = '$url(settings.base_url, "notes")'
  const note = { ...RAW, method: 'POST', url, format: 'json', body: '{"file": document.base64}' } as const
  const preview = async (upload: HttpDestination['upload']) =>
    await kindTo(service.baseUrl, { auth, request: note, upload }, open).preview?.(storing(stored))
  const authorization = `Bearer ${MASK}`
  const file = '{"file":"[document: 8 bytes in base64]"}'
  const request = { method: 'POST', url: `${service.baseUrl}/notes`, headers: { authorization }, body: file }
  expect(await preview(null)).toMatchObject(request)
  expect(await preview(RAW)).toMatchObject({
    ...request,
    upload: { method: 'PUT', url: `${service.baseUrl}/files/${stored.sha256}`, headers: { authorization }, body: '[document: 8 bytes]' },
  })
  expect((await preview({ ...RAW, url: '"https://elsewhere.example/put"' }))?.upload?.headers).not.toHaveProperty('authorization')
  expect((await preview({ ...RAW, url: 'body.put' }))?.upload).toMatchObject({ method: 'PUT', url: '(from the answer to the request)' })
  expect(service.arrived).toEqual([])
})
