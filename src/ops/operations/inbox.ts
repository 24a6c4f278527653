import { z } from 'zod'
import { parseTime } from '../../model/time.ts'
import { findDeliveries, type InboxEntry, type InboxFilter, listDeliveries } from '../../store/inbox/queries.ts'
import { searchDeliveries } from '../../store/inbox/search.ts'
import { withInsured } from '../../store/mirror/insured.ts'
import {
  changesBy,
  countChoice,
  replay as replayDeed,
  type StateChange,
  settleAll,
  settleIds,
  showDeliveries,
  skip as skipDeed,
} from '../actions/inbox.ts'
import { refuseUnknownNames } from '../actions/unknown-names.ts'
import { NotFoundError } from '../output/refusals.ts'
import { ago, pluralize, printableLine, since } from '../output/text.ts'
import { time } from '../output/time.ts'
import { newestFound } from '../status/found-without-webhook.ts'
import { deliveryText, keptBody, keptHeaders, received } from './delivery-parts.ts'
import { cursorOf, deliveryId, filterOf, name, noCursor, numberIn, page, pageOf, paging, placeIn, submissionId, whole } from './inputs.ts'
import { type OperationContext, operation } from './operation.ts'

const states = ['ready', 'done', 'aside', 'dead'] as const

const entry = z.object({
  inbox_id: z.int().meta({ description: 'its number' }),
  delivery_id: z.string().meta({ description: 'the svix-id' }),
  account: z.string(),
  received_at: time,
  state: z.enum(states),
  kind: z.string().nullable(),
  submission_id: z.string().nullable(),
  attempts: z.int(),
  error: z.string().nullable(),
})

const filters = {
  account: name.optional().meta({ description: 'only of this account' }),
  submission_id: submissionId.optional().meta({ description: 'only of this submission' }),
  ...received,
  kind: name.optional().meta({ description: 'only of this type, like `submission.events`' }),
  text: name.optional().meta({ description: "only those with this part in their svix-id, their error or their submission's id" }),
}

type Search = Pick<z.output<typeof listed>, 'kind' | 'text'>
const listed = z.strictObject({ state: z.enum(states).optional().meta({ description: 'only in this state' }), ...filters, ...paging })

const list = operation({
  name: 'inbox.list',
  summary: 'list stored deliveries, the newest first',
  description:
    'Without headers and bodies: `done` was applied, `dead` and `aside` were not. With `kind` or `text` it looks through some thousands at a ' +
    'time: a page may hold fewer than `limit`, even none, and there is a next one.',
  role: 'viewer',
  http: 'GET /inbox',
  tool: 'list_deliveries',
  input: listed,
  output: pageOf(entry.extend({ insured_name: z.string().nullable().meta({ description: 'of its submission' }) }).meta({ id: 'Delivery' })),
  run: async (c, { limit, cursor, kind, text, ...chosen }) => {
    await refuseUnknownNames(c.db.read, c.config, chosen)
    const found = await pageFound(c, { ...filterOf(c, chosen), after: numberIn(cursor) }, { kind, text }, limit)
    return { ...found, items: await withInsured(c.db.read, found.items) }
  },
  print: (to, { items }) => {
    const headings = [
      ...['number', 'delivery', 'account', 'received', 'state', 'kind', 'submission', 'tries'],
      { heading: 'error', fit: 'below' } as const,
    ]
    const rows = items.map((d) => [
      ...[d.inbox_id, d.delivery_id, d.account, ago(d.received_at, to.now), d.state, d.kind, d.submission_id, d.attempts, d.error],
    ])
    to.table({ title: 'Deliveries, the newest first', headings, rows }, 'No delivery.')
  },
})

async function pageFound(c: OperationContext, filter: InboxFilter, search: Search, limit: number) {
  if (search.kind === undefined && search.text === undefined)
    return page(await listDeliveries(c.db.read, filter, limit + 1), limit, ({ inbox_id }: InboxEntry) => [inbox_id])
  const { items, after } = await searchDeliveries(c.db.read, filter, search, limit)
  return { items, next_cursor: after === null ? null : cursorOf([after]) }
}

const byId = z.strictObject({ id: deliveryId.meta({ description: 'its svix-id, or its number in the list' }) })

/** @throws NotFoundError when there are none. */
function found<T>(id: string, deliveries: readonly T[]): readonly T[] {
  if (deliveries.length === 0) throw new NotFoundError([`there is no delivery ${printableLine(id)}`])
  return deliveries
}

const show = operation({
  name: 'inbox.show',
  summary: 'show a delivery with its headers and body',
  description: 'The same svix-id may have come to several accounts, so this is a list. Who saw it is noted in `operator_actions`.',
  role: 'operator',
  http: 'GET /inbox/:id',
  input: byId,
  argument: 'id',
  output: pageOf(
    entry
      .extend({
        available_at: time,
        settled_at: time.nullable(),
        secret: z.int().meta({ description: "which of the account's webhook secrets verified it, from 1" }),
        headers: keptHeaders,
        body: keptBody,
      })
      .meta({ id: 'DeliveryShown' }),
  ),
  shows: ({ items }) => ({
    target: null,
    detail: { deliveries: items.map(({ account, delivery_id, submission_id }) => ({ account, delivery_id, submission_id })) },
  }),
  run: async (c, { id }) => whole(found(id, await showDeliveries(c.db.read, id))),
  print: (to, { items }) => to.line(items.map(deliveryText).join('\n\n')),
})

const changed = z
  .object({ seq: z.int(), entity: z.string(), entity_id: z.string(), operation: z.string(), cause: z.string(), changed_at: time })
  .meta({ id: 'ChangeName', description: 'a change to the mirror, without its values' })

const changes = operation({
  name: 'inbox.changes',
  summary: 'list what deliveries became: the changes that webhooks made to their submission between their arrival and their settling',
  description:
    'For each delivery of that id at most 200. Another delivery of the same submission in that time is among them; no row notes which delivery ' +
    'changed it.',
  role: 'viewer',
  http: 'GET /inbox/:id/changes',
  input: byId,
  argument: 'id',
  output: pageOf(z.object({ inbox_id: z.int(), account: z.string(), changes: z.array(changed) }).meta({ id: 'DeliveryBecame' })),
  run: async (c, { id }) => {
    const items = []
    for (const delivery of found(id, await findDeliveries(c.db.read, id))) {
      const { inbox_id, account } = delivery
      items.push({ inbox_id, account, changes: await changesBy(c.db.read, delivery) })
    }
    return whole(items)
  },
  print: (to, { items }) => {
    const rows = items.flatMap((of) =>
      of.changes.map((each) => [
        of.inbox_id,
        of.account,
        each.seq,
        each.entity,
        each.entity_id,
        each.operation,
        ago(each.changed_at, to.now),
      ]),
    )
    const headings = ['delivery', 'account', 'seq', 'entity', 'id', 'change', 'ago']
    to.table({ title: 'What became of it', headings, rows }, 'It changed nothing: the mirror had all of it, or it only caused a read.')
  },
})

const lost = operation({
  name: 'inbox.lost',
  summary: 'list the newest events and messages that a reading of the feeds found, and of which no webhook has told',
  description: 'Of each account the newest 1,000 that a reading showed first are looked at.',
  role: 'viewer',
  http: 'GET /found-without-webhook',
  input: z.strictObject({ account: filters.account, ...paging }),
  output: pageOf(
    z
      .object({
        account: z.string(),
        submission_id: z.string(),
        insured_name: z.string().nullable(),
        entity: z.enum(['market_events', 'thread_messages']),
        record_id: z.string(),
        what: z.string().nullable().meta({ description: 'the type of the event, the kind of the message' }),
        market_name: z.string().nullable(),
        occurred_at: time.nullable(),
        known_at: time.meta({ description: 'when the reading found it' }),
        known_via: z.string().meta({ description: '`poll`, `replay` (a later reading of the feed from its beginning), `reconcile`' }),
        lost: z.boolean().meta({ description: 'its webhook counts as lost: it has not come for 15 minutes' }),
        before_tracked: z
          .boolean()
          .meta({ description: 'it happened before its submission was tracked here: its webhook may have come before' }),
      })
      .meta({ id: 'FoundWithoutWebhook' }),
  ),
  run: async (c, { account, limit, cursor }) => {
    await refuseUnknownNames(c.db.read, c.config, { account })
    const rows = await newestFound(c.db, c.config.accounts, { account, after: foundBefore(cursor), limit: limit + 1 })
    return page(rows, limit, ({ known_at, record_id }) => [known_at, record_id])
  },
  print: (to, { items }) => {
    const headings = ['first seen', 'by', 'happened', 'insured', 'what', 'market', 'submission', 'webhook']
    const rows = items.map((each) => [
      ...[since(each.known_at, to.now), each.known_via, since(each.occurred_at, to.now), each.insured_name, each.what, each.market_name],
      ...[each.submission_id, each.before_tracked ? 'before it was tracked' : each.lost ? 'lost' : 'may still come'],
    ])
    to.table({ title: 'Found without a webhook, the newest first', headings, rows }, 'Whatever came was told of by a webhook.')
  },
})

function foundBefore(cursor: string | undefined) {
  if (cursor === undefined) return undefined
  const [knownAt, recordId] = placeIn(cursor, ['string', 'string'])
  const known_at = parseTime(String(knownAt))
  if (known_at === null) throw noCursor()
  return { known_at, record_id: String(recordId) }
}

/** Which deliveries a change is about: ids, or what finds them. */
function choiceFor(change: StateChange) {
  return z.strictObject({
    ids: z.array(deliveryId).min(1).max(500).optional().meta({ description: 'ids of deliveries (svix-id), or their numbers in the list' }),
    state: z.enum(change.states).optional().meta({ description: 'all deliveries in this state' }),
    ...filters,
    dry_run: z.boolean().optional().meta({ description: 'only tell how many there are; nothing is changed' }),
  })
}

type Choice = z.output<ReturnType<typeof choiceFor>>

async function settle(c: OperationContext, change: StateChange, { ids, dry_run, ...chosen }: Choice): Promise<number> {
  if (ids !== undefined) return await (dry_run ? countChoice(c, change, ids) : settleIds(c, change, ids))
  await refuseUnknownNames(c.db.read, c.config, chosen)
  const filter = filterOf(c, chosen)
  return await (dry_run ? countChoice(c, change, filter) : settleAll(c, change, filter))
}

function isNarrowed({ ids: _, state: __, dry_run: ___, ...narrowing }: Choice): boolean {
  return Object.values(narrowing).some((each) => each !== undefined)
}

const replay = operation({
  name: 'inbox.replay',
  summary: 'work stored deliveries again, whatever became of them',
  description: 'Those of `ids`, or all that a filter finds as the list of deliveries does. Ask with `dry_run` first, which tells how many.',
  role: 'operator',
  http: 'POST /inbox/replay',
  tool: 'replay',
  // Any filter will do, so that giving none at all is no slip of the hand.
  input: choiceFor(replayDeed).refine(
    (given) => (given.ids === undefined) === (given.state !== undefined || isNarrowed(given)),
    'give ids or a filter, and only one of them',
  ),
  argument: 'ids',
  output: z.object({ replayed: z.int() }).meta({ id: 'Replayed', description: 'how many; with `dry_run` how many it would be' }),
  run: async (c, given) => ({ replayed: await settle(c, replayDeed, given) }),
  print: (to, { replayed }, { dry_run }) =>
    to.line(`${pluralize(replayed, 'delivery', 'deliveries')} ${dry_run ? 'would' : 'will'} be worked again`),
})

const skip = operation({
  name: 'inbox.skip',
  summary: 'give dead deliveries up: they are set aside, and nobody is told of them any more',
  description: 'Retention takes them in its time. Until then they can be replayed.',
  role: 'operator',
  http: 'POST /inbox/skip',
  // Whoever gives up more than one says that they are dead.
  input: choiceFor(skipDeed)
    .refine(({ ids, state }) => (ids === undefined) === (state !== undefined), 'give ids or state, and only one of them')
    .refine(
      (given) => given.ids === undefined || !isNarrowed(given),
      'account, submission_id, since, until, kind and text go with state, not with ids',
    ),
  argument: 'ids',
  output: z.object({ skipped: z.int() }).meta({ id: 'Skipped', description: 'how many; with `dry_run` how many it would be' }),
  run: async (c, given) => ({ skipped: await settle(c, skipDeed, given) }),
  print: (to, { skipped }, { dry_run }) =>
    to.line(`${pluralize(skipped, 'dead delivery', 'dead deliveries')} ${dry_run ? 'would be ' : ''}set aside`),
})

/** `inbox list|show|changes|lost|replay|skip` */
export const operations = [list, show, changes, lost, replay, skip]
