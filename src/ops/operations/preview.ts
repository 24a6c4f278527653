import { z } from 'zod'
import { messageOf } from '../../base/errors.ts'
import { createDocumentStorage } from '../../documents/storage/create.ts'
import { documentOpener } from '../../documents/storage/opener.ts'
import { previewChanges } from '../../push/send/preview.ts'
import { documentMetadata } from '../../store/mirror/document-metadata.ts'
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
  headers: z.record(z.string(), z.string()).describe('a credential is masked'),
  body: z.string().nullable().describe('the bytes of a document are described'),
}
const upload = record('PreviewedUpload', parts)
const request = record('PreviewedRequest', { ...parts, upload: upload.optional().describe('the request that follows with the document') })

const previewed = record('PreviewedChange', {
  seq: z.int(),
  message_id: z.string(),
  submission_id: z.string().nullable(),
  entity: z.string(),
  operation: z.string(),
  request: request.nullable(),
  not_sent: z.string().nullable().describe('why it would not be sent'),
  error: z.string().nullable().describe('which expression failed, and why'),
})

/** Changes that are looked at unless another number is asked for. */
const FEW = 5

/** `destination preview` */
export const preview = operation({
  name: 'destination.preview',
  summary: 'show the requests that a destination would be sent, and send nothing',
  description: 'Of one change, or of the newest ones of a submission, whether they were sent before or not. Secrets are masked.',
  role: 'operator',
  http: 'POST /destinations/:name/preview',
  input: z
    .strictObject({
      name: name.describe('of the destination'),
      seq: z.coerce.number().int().min(1).optional().describe('number of the change'),
      submission_id: ofSubmission,
      limit: z.coerce.number().int().min(1).max(50).default(FEW).describe('changes at most'),
    })
    .refine(
      ({ seq, submission_id }) => (seq === undefined) !== (submission_id === undefined),
      'say which changes by seq, or by submission',
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
          throw new NotFoundError([`change ${seq} isn't in the change log, or not of an account of destination ${of}`])
        const made = await withKind(
          c,
          c.config,
          destination,
          async (kind) => {
            if (kind.preview === undefined)
              throw new ConflictError([
                `destination ${of} is of kind ${destination.kind}, which makes no request of its own for each change`,
              ])
            const items: z.output<typeof previewed>[] = []
            for (const { item, notSent, error } of changes) {
              const { seq: number, messageId, submissionId: submission, entity, operation: what } = item
              const told = { seq: number, message_id: messageId, submission_id: submission, entity, operation: what, not_sent: notSent }
              const shown = error ?? (notSent === null ? await kind.preview(item).catch(messageOf) : null)
              items.push({ ...told, request: typeof shown === 'string' ? null : shown, error: typeof shown === 'string' ? shown : null })
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
    if (items.length === 0) to.line('no change of the submission is for this destination')
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
