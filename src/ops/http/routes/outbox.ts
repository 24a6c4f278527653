import { z } from 'zod'
import { findOutboxRows, listedStates, listOutbox } from '../../../store/outbox/queries.ts'
import { readExchanges, shownEntry } from '../../actions/exchange.ts'
import { countOutbox, retry, type StateChange, settleOutbox, skip } from '../../actions/outbox.ts'
import { refuseUnknownNames } from '../../actions/unknown-names.ts'
import { NotFoundError } from '../../output/refusals.ts'
import { printableLine } from '../../output/text.ts'
import { answersAbout, answersOfAction } from '../api/answers.ts'
import { type AdminParts, type Api, actionContextFor, momentOf } from '../api/parts.ts'
import { afterNumber, limit, moment, name, page, pageOf, submissionId, time, whole } from '../api/schemas.ts'

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
    detail: z.string().nullable(),
    error: z.string().nullable().meta({ description: 'what came of the last attempt; addresses and tax ids in it are masked' }),
    remote_id: z.string().nullable(),
    insured_name: z.string().nullable().meta({ description: 'of its submission' }),
  })
  .meta({ id: 'OutboxRow' })

const filters = {
  destination: name.optional(),
  account: name.optional(),
  submission_id: submissionId.optional(),
  since: moment.optional(),
  until: moment.optional(),
}

const list = {
  summary: 'changes on their way to destinations, the newest first',
  tags: ['outbox'],
  querystring: z.strictObject({
    state: z.enum(listedStates).optional(),
    ...filters,
    limit,
    after: afterNumber,
  }),
  response: answersAbout('a page of the outbox', pageOf(entry)),
}

const show = {
  summary: 'all that is known of a change on its way',
  description: 'The same message may be on its way to several destinations, so this is a list.',
  tags: ['outbox'],
  params: z.strictObject({ id: name.meta({ description: 'its message id (webhook-id), or its number' }) }),
  response: answersAbout('the rows of that id', pageOf(entry)),
}

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

const exchange = {
  summary: 'what a destination is sent of a change, and what it answered last',
  description: 'Without secrets; personal values are masked, and columns that the destination is not sent are left out.',
  tags: ['outbox'],
  params: z.strictObject({ id: name.meta({ description: 'its message id (webhook-id), or its number' }) }),
  response: answersAbout('for each row of that id', pageOf(exchanged)),
}

const settled = z
  .object({
    changed: z.int(),
    under_way: z.int().meta({ description: 'left alone, because they are being sent just now' }),
  })
  .meta({ id: 'OutboxSettled' })

function schemaOf(change: StateChange, summary: string) {
  const body = z
    .strictObject({
      ids: z.array(name).min(1).max(500).optional().meta({
        description: 'numbers, or message ids (webhook-id); `destination` is needed for a message that is on its way to several',
      }),
      state: z.enum(change.states).optional().meta({ description: 'when left out: dead letters and unknown outcomes' }),
      ...filters,
      dry_run: z.boolean().optional().meta({ description: 'only tell how many there are; nothing is changed' }),
    })
    .refine(
      ({ dry_run: _, ...given }) => Object.values(given).some((value) => value !== undefined),
      'give ids, or say which changes by one of the other fields',
    )
    .refine(
      ({ ids, destination: _, dry_run: __, ...others }) => ids === undefined || Object.values(others).every((value) => value === undefined),
      'ids go with destination alone; leave the other fields out',
    )
  return { summary, tags: ['outbox'], body, response: answersOfAction('how many were changed, or with `dry_run` would be', settled) }
}

const retrySchema = schemaOf(retry, 'try changes again that were given up')
const skipSchema = schemaOf(skip, 'give changes up for good, so that what waits behind them goes on')

/** `/outbox` */
export function addOutbox(api: Api, p: AdminParts): void {
  api.get('/outbox', { schema: list }, async ({ query }) => {
    const { limit: max, after, ...filter } = query
    await refuseUnknownNames(p.db.read, p.config(), filter)
    const found = await listOutbox(p.db.read, { ...filterOf(p, filter), after }, max + 1)
    return page(found.map(shownEntry), max, (last) => last.outbox_id)
  })
  api.get('/outbox/:id', { schema: show }, async ({ params }) => {
    const items = await findOutboxRows(p.db.read, params.id)
    if (items.length === 0) throw new NotFoundError([`there is no change ${printableLine(params.id)} in the outbox`])
    return whole(items.map(shownEntry))
  })
  api.get('/outbox/:id/exchange', { schema: exchange }, async ({ params }) => {
    const items = await readExchanges(p.db.read, p.config(), params.id)
    if (items.length === 0) throw new NotFoundError([`there is no change ${printableLine(params.id)} in the outbox`])
    return whole(items.map((item) => ({ ...item, request: { ...item.request } })))
  })
  for (const [change, schema] of [
    [retry, retrySchema],
    [skip, skipSchema],
  ] as const) {
    api.post(`/outbox/${change.name}`, { schema }, async (request) => {
      const { ids, dry_run, ...filter } = request.body
      if (ids === undefined) await refuseUnknownNames(p.db.read, p.config(), filter)
      const choice = ids === undefined ? { filter: filterOf(p, filter) } : { ids, destination: filter.destination, field: 'destination' }
      if (dry_run === true) return { changed: await countOutbox(actionContextFor(p, request), change, choice), under_way: 0 }
      const { changed, inFlight } = await settleOutbox({ ...actionContextFor(p, request), config: p.config(), log: p.log }, change, choice)
      return { changed, under_way: inFlight }
    })
  }
}

interface Filters<S> {
  readonly destination?: string | undefined
  readonly account?: string | undefined
  readonly submission_id?: string | undefined
  readonly state?: S | undefined
  readonly since?: string | undefined
  readonly until?: string | undefined
}

function filterOf<S>(p: AdminParts, { submission_id, since, until, ...others }: Filters<S>) {
  return { ...others, submissionId: submission_id, since: momentOf(p, since), until: momentOf(p, until) }
}
