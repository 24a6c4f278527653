import { z } from 'zod'
import { MASK, maskedText } from '../../model/masking.ts'
import { findOutboxRows, type ListedState, listedStates, listOutbox } from '../../store/outbox/queries.ts'
import { readExchanges, shownOutcome } from '../actions/exchange.ts'
import { countOutbox, retry, type StateChange, settleOutbox, skip } from '../actions/outbox.ts'
import { refuseUnknownNames } from '../actions/unknown-names.ts'
import { NotFoundError } from '../output/refusals.ts'
import { ago, fieldsText, pluralize, printableLine, until } from '../output/text.ts'
import { time } from '../output/time.ts'
import { hidden } from './hidden.ts'
import { filterOf, moment, name, numberIn, page, pageOf, paging, submissionId, whole } from './inputs.ts'
import { operation } from './operation.ts'

const entry = z
  .object({
    outbox_id: z.int().meta({ description: 'its number' }),
    destination: z.string(),
    destination_state: z.string(),
    account: z.string(),
    lane: z.string().meta({ description: 'what keeps its order: a submission, or another entity' }),
    submission_id: z.string().nullable(),
    entity: z.string(),
    entity_id: z.string(),
    operation: z.string(),
    seq: z.int(),
    message_id: z.string().meta({ description: 'the webhook-id' }),
    state: z.string().meta({ description: 'as in the view push_status' }),
    attempts: z.int(),
    queued_at: time,
    tried_at: time.nullable(),
    next_try_at: time.nullable(),
    delivered_at: time.nullable(),
    status: z.int().nullable(),
    detail: hidden(z.string().nullable(), (text) => maskedText(text)),
    // What a destination answered may repeat what it was sent.
    error: hidden(
      z.string().nullable().meta({ description: 'what came of the last attempt; in lists without what the destination answered' }),
      (text, { status }: { status: number | null }) => shownOutcome(text, status),
    ),
    remote_id: hidden(z.string().nullable().meta({ description: 'what the destination calls the record; masked in lists' }), () => MASK),
    insured_name: z.string().nullable().meta({ description: 'of its submission' }),
  })
  .meta({ id: 'OutboxRow' })

/** Which changes; states are those that the operation can be about. */
function choice<S extends ListedState>(states: readonly S[], about = '') {
  return {
    destination: name.optional().meta({ description: 'only to this destination' }),
    account: name.optional().meta({ description: 'only of this account' }),
    submission_id: submissionId.optional().meta({ description: 'only of this submission' }),
    state: z
      .enum(states)
      .optional()
      .meta({ description: `only in this state${about}` }),
    since: moment.optional().meta({ description: 'only queued since: a date, a date-time, or how long ago (`2h`, `7d`)' }),
    until: moment.optional().meta({ description: 'only queued before' }),
  }
}

const list = operation({
  name: 'outbox.list',
  summary: 'list changes on their way to destinations, or sent, the newest first',
  role: 'viewer',
  http: 'GET /outbox',
  tool: 'list_pushes',
  input: z.strictObject({ ...choice(listedStates), ...paging }),
  output: pageOf(entry),
  run: async (c, { limit, cursor, ...chosen }) => {
    await refuseUnknownNames(c.db.read, c.config, chosen)
    const found = await listOutbox(c.db.read, { ...filterOf(c, chosen), after: numberIn(cursor) }, limit + 1)
    return page(found, limit, ({ outbox_id }) => [outbox_id])
  },
  print: (to, { items }) => {
    const headings = [
      ...['number', 'destination', 'account', 'submission', 'change', 'seq', 'state', 'tries', 'queued', 'next try'],
      { heading: 'error', fit: 'below' } as const,
    ]
    const rows = items.map((e) => [
      ...[e.outbox_id, e.destination, e.account, e.submission_id, `${e.entity}.${e.operation}`, e.seq, e.state],
      ...[e.attempts, ago(e.queued_at, to.now), until(e.next_try_at, to.now), e.error],
    ])
    to.table({ title: 'Changes on their way, the newest first', headings, rows }, 'No change.')
  },
})

const byId = z.strictObject({ id: name.meta({ description: 'its message id (webhook-id), or its number in the list' }) })

/** Hands rows out. @throws NotFoundError when there are none. */
function found<T>(id: string, rows: readonly T[]) {
  if (rows.length === 0) throw new NotFoundError([`there is no change ${printableLine(id)} in the outbox`])
  return whole(rows)
}

function numbersOf({ items }: { readonly items: readonly { readonly outbox_id: number }[] }) {
  return { action: 'outbox.show', target: null, detail: { changes: items.map(({ outbox_id }) => outbox_id) } }
}

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
  run: async (c, { id }) => found(id, await findOutboxRows(c.db.read, id)),
  print: (to, { items }) => to.line(items.map(fieldsText).join('\n\n')),
})

const columns = z.record(z.string(), z.unknown()).nullable()
const exchanged = z
  .object({
    outbox_id: z.int(),
    destination: z.string(),
    attempts: z.int(),
    request: z.object({
      kind: z
        .enum(['webhook', 'http', 'adapter', 'file'])
        .nullable()
        .meta({ description: 'null: the destination is not in the settings any more' }),
      method: z.string().nullable(),
      url: z.string().nullable().meta({ description: 'null for files, and where a template says it' }),
      message_id: z.string(),
      entity: z.string(),
      operation: z.string(),
      seq: z.int(),
      changed_at: time.nullable(),
      before: columns,
      after: columns.meta({ description: 'what it is sent of the row; null when the log does not have the change any more' }),
    }),
    answer: z
      .object({ at: time, status: z.int().nullable(), text: z.string().nullable() })
      .nullable()
      .meta({ description: 'what came of the last attempt; null before the first' }),
  })
  .meta({ id: 'Exchange' })

const exchange = operation({
  name: 'outbox.exchange',
  summary: 'show what a destination is sent of a change, and what it answered last',
  description:
    'Without secrets; personal values are masked, and columns that the destination is not sent are left out. The answer may repeat anything: who ' +
    'saw it is noted.',
  role: 'operator',
  http: 'GET /outbox/:id/exchange',
  input: byId,
  argument: 'id',
  output: pageOf(exchanged),
  shows: numbersOf,
  run: async (c, { id }) => found(id, await readExchanges(c.db.read, c.config, id)),
  print: (to, { items }) => to.line(items.map(({ request, answer, ...row }) => fieldsText({ ...row, ...request, answer })).join('\n\n')),
})

const settled = z
  .object({
    changed: z.int(),
    under_way: z.int().meta({ description: 'left alone, because they are being sent just now' }),
  })
  .meta({ id: 'OutboxSettled' })

const GIVE = 'give ids, or say which changes by destination, account, submission, state, since or until'

function settling(change: StateChange, summary: string, unless: string, done: string, tool?: string) {
  return operation({
    name: `outbox.${change.name}`,
    summary,
    role: 'operator',
    http: `POST /outbox/${change.name}`,
    ...(tool !== undefined && { tool }),
    input: z
      .strictObject({
        ids: z.array(name).min(1).max(500).optional().meta({
          description: 'numbers, or message ids (webhook-id), with the destination for a message that is on its way to several',
        }),
        ...choice(change.states, `; when left out: ${unless}`),
        dry_run: z.boolean().optional().meta({ description: 'only tell how many there are; nothing is changed' }),
      })
      .refine(({ dry_run: _, ...given }) => Object.values(given).some((value) => value !== undefined), GIVE)
      .refine(
        ({ ids, destination: _, dry_run: __, ...others }) =>
          ids === undefined || Object.values(others).every((value) => value === undefined),
        'ids go with the destination alone; leave the others out',
      ),
    argument: 'ids',
    output: settled,
    run: async (c, { ids, dry_run, ...chosen }) => {
      if (ids === undefined) await refuseUnknownNames(c.db.read, c.config, chosen)
      const which =
        ids === undefined ? { filter: filterOf(c, chosen) } : { ids, destination: chosen.destination, field: c.nameOf('destination') }
      if (dry_run === true) return { changed: await countOutbox(c, change, which), under_way: 0 }
      const { changed, inFlight } = await settleOutbox(c, change, which)
      return { changed, under_way: inFlight }
    },
    print: (to, { changed, under_way }, { dry_run }) => {
      to.line(`${pluralize(changed, 'change')} ${dry_run === true ? done.replace('will', 'would') : done}`)
      if (under_way > 0) to.line(`${under_way} left alone, because they are in flight; repeat the command`)
    },
  })
}

/** `outbox list|show|exchange|retry|skip` */
export const operations = [
  list,
  show,
  exchange,
  settling(
    retry,
    'try changes again now',
    'dead letters, unknown outcomes, and what waits for its next attempt',
    'will be tried again',
    'retry_push',
  ),
  settling(
    skip,
    'give changes up for good, so that what waits behind them goes on',
    'dead letters and unknown outcomes',
    'will not be sent any more',
  ),
]
