import { z } from 'zod'
import { createDocumentStorage } from '../../../documents/storage/create.ts'
import type { DocumentStorage } from '../../../documents/storage/storage.ts'
import { listDocuments } from '../../../store/mirror/documents.ts'
import { fileNameOf, openDocument } from '../../actions/documents.ts'
import { refuseUnknownNames } from '../../actions/unknown-names.ts'
import { name, submissionId, time } from '../../operations/inputs.ts'
import { answersAbout, fileAbout } from '../api/answers.ts'
import { type AdminParts, type Api, actionContextFor } from '../api/parts.ts'
import { limit, page, pageOf } from '../api/schemas.ts'

const tags = ['documents']
const states = ['stored', 'waiting', 'failed', 'gone'] as const
const key = z
  .string()
  .regex(/^[0-9a-f-]{1,64}$/, 'must be a document_key')
  .meta({ description: 'its `document_key`' })

const entry = z
  .object({
    account: z.string(),
    submission_id: z.string().nullable(),
    insured_name: z.string().nullable(),
    document_key: z.string(),
    document_id: z.string().nullable(),
    origin: z.string().nullable(),
    name: z.string().nullable(),
    source_label: z.string().nullable(),
    content_type: z.string().nullable(),
    created_at: time.nullable(),
    state: z.enum(states),
    stored_path: z.string().nullable(),
    stored_bytes: z.int().nullable(),
    sha256: z.string().nullable(),
    stored_at: time.nullable(),
    error: z.string().nullable(),
    tried_at: time.nullable(),
    gone_at: time.nullable(),
  })
  .meta({ id: 'Document' })

const list = {
  summary: 'documents, in the order of their keys',
  tags,
  querystring: z.strictObject({
    account: name.optional(),
    submission_id: submissionId.optional(),
    state: z.enum(states).optional(),
    limit,
    after: z
      .string()
      .regex(/^[0-9a-f-]{1,64} [a-z0-9][a-z0-9_-]{0,62}$/, 'must be `next` of a page')
      .optional(),
  }),
  response: answersAbout('a page of documents', pageOf(entry)),
}

const file = {
  summary: 'the file of a document',
  description: 'Who took it is noted in `operator_actions`.',
  tags,
  params: z.strictObject({ key }),
  querystring: z.strictObject({ account: name.optional() }),
  response: fileAbout('its bytes'),
}

/** `/documents` */
export function addDocuments(api: Api, p: AdminParts): void {
  const storages = new WeakMap<object, DocumentStorage>()
  const storage = () => {
    const config = p.config()
    const known = storages.get(config.documents) ?? createDocumentStorage(config)
    storages.set(config.documents, known)
    return known
  }
  api.get('/documents', { schema: list }, async ({ query }) => {
    const { account, submission_id, state, limit: max, after } = query
    await refuseUnknownNames(p.db.read, p.config(), { account })
    const [behind = '', of = ''] = after?.split(' ') ?? []
    const from = after === undefined ? undefined : { key: behind, account: of }
    const found = await listDocuments(p.db.read, { account, submissionId: submission_id, state, after: from }, max + 1)
    return page(found, max, (last) => `${last.document_key} ${last.account}`)
  })
  api.get('/documents/:key', { schema: file }, async (request, reply) => {
    const { params, query } = request
    const { row, bytes } = await openDocument(actionContextFor(p, request), storage(), params.key, query.account)
    const name = encodeURIComponent(fileNameOf(row)).replace(/['()*]/g, (char) => `%${char.charCodeAt(0).toString(16)}`)
    reply.header('content-disposition', `attachment; filename*=UTF-8''${name}`).header('content-length', String(row.stored_bytes))
    // Whatever it is, no browser shows it as a page of this server.
    return reply.type('application/octet-stream').send(bytes as never)
  })
}
