import { z } from 'zod'
import { createDocumentStorage } from '../../../documents/storage/create.ts'
import type { DocumentStorage } from '../../../documents/storage/storage.ts'
import { fileNameOf, openDocument } from '../../actions/documents.ts'
import { name } from '../../operations/inputs.ts'
import { fileAbout } from '../api/answers.ts'
import { type AdminParts, type Api, actionContextFor } from '../api/parts.ts'

const key = z
  .string()
  .regex(/^[0-9a-f-]{1,64}$/, 'must be a document_key')
  .describe('`document_key`')

const file = {
  summary: 'download the file of a document',
  description: 'The download is recorded in `operator_actions`.',
  tags: ['document'],
  params: z.strictObject({ key }),
  querystring: z.strictObject({ account: name.optional() }),
  response: fileAbout('the file'),
}

/** Adds `GET /documents/:key`, which returns the file of a document. */
export function addDocuments(api: Api, p: AdminParts): void {
  const storages = new WeakMap<object, DocumentStorage>()
  const storage = () => {
    const config = p.config()
    const known = storages.get(config.documents) ?? createDocumentStorage(config)
    storages.set(config.documents, known)
    return known
  }
  api.get('/documents/:key', { schema: file, config: { role: 'operator' } }, async (request, reply) => {
    const { params, query } = request
    const { row, bytes } = await openDocument(actionContextFor(p, request), storage(), params.key, query.account)
    const name = encodeURIComponent(fileNameOf(row)).replace(/['()*]/g, (char) => `%${char.charCodeAt(0).toString(16)}`)
    reply.header('content-disposition', `attachment; filename*=UTF-8''${name}`).header('content-length', String(row.stored_bytes))
    // Send a generic type, so that browsers don't show a document as a page of this server.
    return reply.type('application/octet-stream').send(bytes as never)
  })
}
