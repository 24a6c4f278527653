import { z } from 'zod'
import { MASK, maskedText, shownOutcome } from '../../model/masking.ts'
import { findOutboxRows, listedStates, listOutbox, searchOutbox } from '../../store/outbox/queries.ts'
import { record, time } from '../output/schema.ts'
import { fieldsText } from '../output/text.ts'
import { hidden } from './hidden.ts'
import { cursorOf, filterOf, name, numberIn, page, pageOf, paging } from './inputs.ts'
import { operation } from './operation.ts'
import { byId, choice, errorFor, found, numbersOf, wholeMessageId } from './outbox-parts.ts'

const entry = record('OutboxRow', {
  outbox_id: z.int().describe('id of the push, for commands'),
  destination: z.string(),
  destination_state: z.string(),
  account: z.string(),
  stream: z.string().describe('stream that keeps the order: a submission, or another entity'),
  submission_id: z.string().nullable(),
  entity: z.string(),
  entity_id: z.string(),
  operation: z.string(),
  seq: z.int(),
  message_id: z.string().describe('webhook-id'),
  state: z.string().describe('as in the view push_status'),
  attempts: z.int(),
  queued_at: time,
  tried_at: time.nullable(),
  next_try_at: time.nullable(),
  delivered_at: time.nullable(),
  status: z.int().nullable(),
  detail: hidden(z.string().nullable(), (text) => maskedText(text)),
  // Mask the error, because a destination may repeat what it received.
  error: hidden(
    z.string().nullable().describe('failure of the last attempt; in lists without the answer'),
    (text, { status }: { status: number | null }) => shownOutcome(text, status),
  ),
  remote_id: hidden(z.string().nullable().describe('id of the record at the destination; masked in lists'), () => MASK),
  insured_name: z.string().nullable(),
})

const list = operation({
  name: 'outbox.list',
  summary: 'list queued and sent changes, newest first',
  description: 'With `text` or `reason`, each page searches a few thousand changes, so a page before the end can be short or empty.',
  role: 'viewer',
  http: 'GET /outbox',
  hasCsv: true,
  tool: 'list_pushes',
  input: z.strictObject({
    ...choice(listedStates),
    text: name.optional().describe('only with this text in the table, ids, failure or insured'),
    reason: z.string().min(1).max(1_000).optional().describe('only failures with this `reason` of `destination failures`'),
    ...paging,
  }),
  output: pageOf(entry),
  run: async (c, { limit, cursor, text, reason, ...chosen }) => {
    const filter = { ...filterOf(c, chosen), after: numberIn(cursor) }
    if (text !== undefined || reason !== undefined) {
      const { items, after } = await searchOutbox(c.db.read, filter, { text, reason, errorOf: errorFor(c) }, limit)
      return { items, next_cursor: after === null ? null : cursorOf([after]) }
    }
    const rows = await listOutbox(c.db.read, filter, limit + 1)
    return page(rows, limit, ({ outbox_id }) => [outbox_id])
  },
  table: [
    'Changes for destinations, newest first',
    [
      ...(['outbox_id', 'destination', 'account', 'submission_id'] as const),
      ['change', (e) => `${e.entity}.${e.operation}`],
      ...(['seq', 'state', 'attempts', 'queued_at', 'next_try_at', 'error'] as const),
    ],
    'No changes.',
  ],
})

const show = operation({
  name: 'outbox.show',
  summary: 'show a change with its message ids, attempts and last answer',
  description: 'Returns a list, because a message may go to several destinations. Viewing is recorded, because it includes answers.',
  role: 'operator',
  http: 'GET /outbox/:id',
  input: byId,
  argument: 'id',
  output: pageOf(entry),
  shows: numbersOf,
  run: async (c, { id }) => found(id, await findOutboxRows(c.db.read, await wholeMessageId(c.db.read, id))),
  print: (to, { items }) => to.line(items.map(fieldsText).join('\n\n')),
})

export const operations = [list, show]
