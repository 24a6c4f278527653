import { z } from 'zod'
import { messageOf } from '../../base/errors.ts'
import { createDocumentStorage } from '../../documents/storage/create.ts'
import { documentOpener } from '../../documents/storage/opener.ts'
import { previewChanges } from '../../push/send/preview.ts'
import { documentMetadata } from '../../store/mirror/documents.ts'
import { destinationNamed } from '../actions/names.ts'
import { withKind } from '../doctor/destination.ts'
import { ConflictError, NotFoundError } from '../output/refusals.ts'
import { record } from '../output/schema.ts'
import { printableLine } from '../output/text.ts'
import { name, ofSubmission, whole } from './inputs.ts'
import { operation } from './operation.ts'

const parts = {
  method: z.string(),
  url: z.string(),
  headers: z.record(z.string(), z.string()).describe('credentials are masked'),
  body: z.string().nullable().describe('documents are described, not included'),
}
const upload = record('PreviewedUpload', parts)
const request = record('PreviewedRequest', { ...parts, upload: upload.optional().describe('the request with the document that follows') })

const previewed = record('PreviewedChange', {
  seq: z.int(),
  message_id: z.string(),
  submission_id: z.string().nullable(),
  entity: z.string(),
  operation: z.string(),
  request: request.nullable(),
  not_sent: z.string().nullable().describe('reason if it would not be sent now'),
  error: z.string().nullable().describe('the failed expression and the reason'),
})

const DEFAULT_LIMIT = 5

const UNMAPPED = 'not sent until the submission is mapped to a client'

export const preview = operation({
  name: 'destination.preview',
  summary: 'show the requests that a destination would receive, without sending them',
  description: 'Shows one change, or the newest changes of a submission, whether already sent or not. Secrets are masked.',
  role: 'operator',
  http: 'POST /destinations/:name/preview',
  input: z
    .strictObject({
      name: name.describe('destination name'),
      seq: z.coerce.number().int().min(1).optional().describe('change number'),
      submission_id: ofSubmission,
      limit: z.coerce.number().int().min(1).max(50).default(DEFAULT_LIMIT).describe('maximum number of changes'),
    })
    .refine(
      ({ seq, submission_id }) => (seq === undefined) !== (submission_id === undefined),
      'give either a submission or a change number',
    ),
  argument: 'name',
  output: record('DestinationPreview', { items: z.array(previewed), next_cursor: z.null() }),
  exit: ({ items }) => (items.some(({ error }) => error !== null) ? 1 : 0),
  run: async (c, { name: of, seq, submission_id: submissionId, limit }) => {
    const destination = destinationNamed(c.config, of)
    const { made } = await c.attempt(
      { action: 'destination.preview', target: of, detail: { seq: seq ?? null, submission_id: submissionId ?? null } },
      async () => {
        const changes = await previewChanges(c.db.read, destination, { seq, submissionId }, limit)
        if (seq !== undefined && changes.length === 0)
          throw new NotFoundError([`change ${seq} isn't in the change log, or doesn't belong to an account of destination ${of}`])
        const made = await withKind(
          c,
          c.config,
          destination,
          async (kind) => {
            if (kind.preview === undefined)
              throw new ConflictError([`destination ${of} has kind ${destination.kind}, which doesn't send one request per change`])
            const items: z.output<typeof previewed>[] = []
            for (const { item, notSent, error } of changes) {
              const { seq: number, messageId, submissionId: submission, entity, operation: what } = item
              const waits = item.mapping === null && destination.mapping === 'required' ? UNMAPPED : null
              const not_sent = notSent ?? waits
              const about = { seq: number, message_id: messageId, submission_id: submission, entity, operation: what, not_sent }
              const shown = error ?? (notSent === null ? await kind.preview(item).catch(messageOf) : null)
              items.push({ ...about, request: typeof shown === 'string' ? null : shown, error: typeof shown === 'string' ? shown : null })
            }
            return items
          },
          documentOpener(createDocumentStorage(c.config), (document) => documentMetadata(c.db.read, document)),
        )
        return { made, detail: { changes: made.length } }
      },
    )
    return whole(made)
  },
  print: (to, { items }) => {
    if (items.length === 0)
      to.line('No logged change of this submission passes the filters of the destination. Without `backfill: true`, history is excluded.')
    for (const { seq, entity, operation: what, request: shown, not_sent, error } of items) {
      to.line(
        `change ${seq}, ${entity} ${what}${not_sent === null ? '' : `: ${not_sent}`}${error === null ? '' : `: ${printableLine(error)}`}`,
      )
      for (const each of shown === null ? [] : [shown, ...(shown.upload ? [shown.upload] : [])]) {
        to.line(`${each.method} ${printableLine(each.url, 2_000)}`)
        for (const [header, text] of Object.entries(each.headers)) to.line(`${header}: ${printableLine(text, 2_000)}`)
        if (each.body !== null) to.line(`\n${each.body}\n`)
      }
    }
  },
})
