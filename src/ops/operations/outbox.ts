import { z } from 'zod'
import { MASK, maskedText, shownOutcome } from '../../model/masking.ts'
import { findOutboxRows, listedStates, listOutbox } from '../../store/outbox/queries.ts'
import { searchOutbox } from '../../store/outbox/search.ts'
import { refuseUnknownNames } from '../actions/names.ts'
import { record, time } from '../output/schema.ts'
import { fieldsText } from '../output/text.ts'
import { hidden } from './hidden.ts'
import { cursorOf, filterOf, name, numberIn, page, pageOf, paging } from './inputs.ts'
import { operation } from './operation.ts'
import { byId, choice, errorFor, found, numbersOf, wholeMessageId } from './outbox-parts.ts'

const entry = record('OutboxRow', {
  outbox_id: z.int().describe('its number'),
  destination: z.string(),
  destination_state: z.string(),
  account: z.string(),
  lane: z.string().describe('what keeps its order: a submission, or another entity'),
  submission_id: z.string().nullable(),
  entity: z.string(),
  entity_id: z.string(),
  operation: z.string(),
  seq: z.int(),
  message_id: z.string().describe('the webhook-id'),
  state: z.string().describe('as in the view push_status'),
  attempts: z.int(),
  queued_at: time,
  tried_at: time.nullable(),
  next_try_at: time.nullable(),
  delivered_at: time.nullable(),
  status: z.int().nullable(),
  detail: hidden(z.string().nullable(), (text) => maskedText(text)),
  // What a destination answered may repeat what it was sent.
  error: hidden(
    z.string().nullable().describe('what came of the last attempt; in lists without what the destination answered'),
    (text, { status }: { status: number | null }) => shownOutcome(text, status),
  ),
  remote_id: hidden(z.string().nullable().describe('what the destination calls the record; masked in lists'), () => MASK),
  insured_name: z.string().nullable().describe('of its submission'),
})

const list = operation({
  name: 'outbox.list',
  summary: 'list changes on their way to destinations, or sent, the newest first',
  description:
    'With `text` or `reason` it looks through some thousands at a time: a page may hold fewer than `limit`, even none, and there is a next one.',
  role: 'viewer',
  http: 'GET /outbox',
  hasCsv: true,
  tool: 'list_pushes',
  input: z.strictObject({
    ...choice(listedStates),
    text: name
      .optional()
      .describe("only those with this part in their table, their ids, their failure, their insured or their submission's id"),
    reason: z.string().min(1).max(1_000).optional().describe('only those that failed for this reason of `destination failures`'),
    ...paging,
  }),
  output: pageOf(entry),
  run: async (c, { limit, cursor, text, reason, ...chosen }) => {
    await refuseUnknownNames(c.db.read, c.config, chosen)
    const filter = { ...filterOf(c, chosen), after: numberIn(cursor) }
    if (text !== undefined || reason !== undefined) {
      const { items, after } = await searchOutbox(c.db.read, filter, { text, reason, errorOf: errorFor(c) }, limit)
      return { items, next_cursor: after === null ? null : cursorOf([after]) }
    }
    const rows = await listOutbox(c.db.read, filter, limit + 1)
    return page(rows, limit, ({ outbox_id }) => [outbox_id])
  },
  table: [
    'Changes for destinations, the newest first',
    [
      ...(['outbox_id', 'destination', 'account', 'submission_id'] as const),
      ['change', (e) => `${e.entity}.${e.operation}`],
      ...(['seq', 'state', 'attempts', 'queued_at', 'next_try_at', 'error'] as const),
    ],
    'No change.',
  ],
})

const show = operation({
  name: 'outbox.show',
  summary: 'show all that is known of a change on its way',
  description:
    'The same message may be on its way to several destinations, so this is a list. With what was answered: who saw it is noted.',
  role: 'operator',
  http: 'GET /outbox/:id',
  input: byId,
  argument: 'id',
  output: pageOf(entry),
  shows: numbersOf,
  run: async (c, { id }) => found(id, await findOutboxRows(c.db.read, await wholeMessageId(c.db.read, id))),
  print: (to, { items }) => to.line(items.map(fieldsText).join('\n\n')),
})

/** `outbox list|show` */
export const operations = [list, show]
