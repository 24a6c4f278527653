import { z } from 'zod'
import { msFromTime, timeFromMs } from '../../model/time.ts'
import { changesBetween } from '../../store/changes/reader.ts'
import type { Query } from '../../store/engine/db.ts'
import { CLOCKS_APART_MS } from '../../store/inbox/causes.ts'
import {
  countDeliveries,
  deliveryIdsLike,
  findDeliveries,
  type InboxDelivery,
  type InboxEntry,
  type InboxFilter,
  listDeliveries,
  searchDeliveries,
} from '../../store/inbox/queries.ts'
import { RejectedStore } from '../../store/inbox/rejected.ts'
import { withInsured } from '../../store/mirror/submissions.ts'
import { wholeId } from '../actions/names.ts'
import { NotFoundError } from '../output/refusals.ts'
import { record, time } from '../output/schema.ts'
import { printableLine } from '../output/text.ts'
import { deliveryText, filters, inboxStates, keptBody, keptHeaders } from './delivery-parts.ts'
import { cursorOf, deliveryId, filterOf, numberIn, page, pageOf, paging, whole } from './inputs.ts'
import { type OperationContext, operation } from './operation.ts'

const entry = z.object({
  inbox_id: z.int().describe('id of the delivery, for commands'),
  delivery_id: z.string().describe('svix-id'),
  account: z.string(),
  received_at: time,
  state: z.enum(inboxStates),
  kind: z.string().nullable(),
  what: z.string().nullable().describe('type of its first event or message, and the market'),
  submission_id: z.string().nullable(),
  attempts: z.int(),
  error: z.string().nullable(),
  insured_name: z.string().nullable(),
})

type Search = Pick<z.output<typeof listed>, 'kind' | 'text'>
const listed = z.strictObject({ state: z.enum(inboxStates).optional().describe('only in this state'), ...filters, ...paging })

const list = operation({
  name: 'inbox.list',
  summary: 'list stored deliveries, newest first',
  description:
    'The list omits headers and bodies. `done` deliveries were applied; `dead` and `aside` (set aside) ones were not. With `kind` or `text`, each page searches a few thousand ' +
    'deliveries, so a page before the end can be short or empty.',
  role: 'viewer',
  http: 'GET /inbox',
  hasCsv: true,
  tool: 'list_deliveries',
  input: listed,
  output: pageOf(entry.meta({ id: 'Delivery' })),
  run: async (c, { limit, cursor, kind, text, ...chosen }) => {
    const found = await pageFound(c, { ...filterOf(c, chosen), after: numberIn(cursor) }, { kind, text }, limit)
    return { ...found, items: await withInsured(c.db.read, found.items) }
  },
  table: [
    'Deliveries, newest first',
    [
      ...(['inbox_id', 'delivery_id', 'account', 'received_at', 'state', 'kind'] as const),
      ['what happened', (delivery) => delivery.what],
      ...(['insured_name', 'submission_id', 'attempts', 'error'] as const),
    ],
    'No deliveries.',
  ],
})

async function pageFound(c: OperationContext, filter: InboxFilter, search: Search, limit: number) {
  if (search.kind === undefined && search.text === undefined)
    return page(await listDeliveries(c.db.read, filter, limit + 1), limit, ({ inbox_id }: InboxEntry) => [inbox_id])
  const { items, after } = await searchDeliveries(
    c.db.read,
    filter,
    { ...search, withInsured: (rows) => withInsured(c.db.read, rows) },
    limit,
  )
  return { items, next_cursor: after === null ? null : cursorOf([after]) }
}

const byId = z.strictObject({ id: deliveryId.describe('svix-id, its first characters, or the id in the list') })

/**
 * @returns the deliveries with this id.
 * @param id complete or shortened svix-id, or an `inbox_id`.
 * @throws NotFoundError if no delivery matches, ConflictError if several ids begin with `id`.
 */
async function deliveriesNamed(q: Query, id: string): Promise<readonly InboxDelivery[]> {
  const deliveries = await findDeliveries(q, await wholeId(id, (text, limit) => deliveryIdsLike(q, text, limit)))
  if (deliveries.length === 0) throw new NotFoundError([`delivery ${printableLine(id)} does not exist`])
  return deliveries
}

const show = operation({
  name: 'inbox.show',
  summary: 'show a delivery with its headers and body',
  description: 'Returns a list, because several accounts may have received the same svix-id. Viewing is recorded in `operator_actions`.',
  role: 'operator',
  http: 'GET /inbox/:id',
  input: byId,
  argument: 'id',
  output: pageOf(
    entry
      .extend({
        available_at: time,
        settled_at: time.nullable(),
        secret: z.int().describe('position of the webhook secret that verified it, from 1'),
        headers: keptHeaders,
        body: keptBody,
      })
      .meta({ id: 'DeliveryShown' }),
  ),
  shows: ({ items }) => ({
    target: null,
    detail: { deliveries: items.map(({ account, delivery_id, submission_id }) => ({ account, delivery_id, submission_id })) },
  }),
  run: async (c, { id }) => whole((await withInsured(c.db.read, await deliveriesNamed(c.db.read, id))).map(shownOf)),
  print: (to, { items }) => to.line(items.map(deliveryText).join('\n\n')),
})

function shownOf<T extends InboxDelivery>({ headers, body, ...fields }: T) {
  return { ...fields, headers: JSON.parse(headers) as Record<string, string>, body: body?.toString('utf8') ?? null }
}

const MOST_CHANGES = 200

/** @returns changes of the submission by any webhook, from the delivery's arrival to the end of its processing. */
async function changesBy(q: Query, { account, submission_id: submissionId, received_at, settled_at }: InboxDelivery) {
  if (submissionId === null || settled_at === null) return []
  const [since, until] = [timeFromMs(msFromTime(received_at) - CLOCKS_APART_MS), timeFromMs(msFromTime(settled_at) + CLOCKS_APART_MS)]
  return await changesBetween(q, { account, submissionId, cause: 'webhook', since, until }, MOST_CHANGES)
}

const changed = record(
  'ChangeName',
  { seq: z.int(), entity: z.string(), entity_id: z.string(), operation: z.string(), cause: z.string(), changed_at: time },
  'a change to the mirror, without its values',
)

const changes = operation({
  name: 'inbox.changes',
  summary: 'list the changes that webhooks made while a delivery was processed',
  description:
    'At most 200 changes per delivery. They may include changes of another delivery for the same submission, because changes do not record their ' +
    'delivery.',
  role: 'viewer',
  http: 'GET /inbox/:id/changes',
  input: byId,
  argument: 'id',
  output: pageOf(record('DeliveryBecame', { inbox_id: z.int(), account: z.string(), changes: z.array(changed) })),
  run: async (c, { id }) => {
    const items = []
    for (const delivery of await deliveriesNamed(c.db.read, id)) {
      const { inbox_id, account } = delivery
      items.push({ inbox_id, account, changes: await changesBy(c.db.read, delivery) })
    }
    return whole(items)
  },
  print: (to, { items }) =>
    to.rows(
      'Result: changes to the mirror',
      items.flatMap(({ inbox_id, account, changes: all }) => all.map((each) => ({ inbox_id, account, ...each }))),
      ['inbox_id', 'account', 'seq', 'entity', 'entity_id', 'operation', 'changed_at'],
      'No changes: the mirror already had the data, or the delivery only caused a read.',
    ),
})

const MOST_COUNTED = 1_000

const counts = operation({
  name: 'inbox.counts',
  summary: `count deliveries by state, and rejected deliveries, each up to ${MOST_COUNTED}`,
  role: 'viewer',
  http: 'GET /inbox/counts',
  input: z.strictObject({ account: filters.account }),
  output: pageOf(
    record('DeliveryCount', {
      state: z.enum([...inboxStates, 'rejected']),
      count: z.int(),
      is_complete: z.boolean().describe('false if there may be more'),
    }),
  ),
  run: async (c, { account }) => {
    const rejected = (await new RejectedStore(c.db, c.log).list({ account, isOpen: true, limit: MOST_COUNTED + 1 })).length
    const found = await Promise.all(inboxStates.map((state) => countDeliveries(c.db.read, { account, state }, MOST_COUNTED)))
    const all = [...inboxStates.map((state, index) => ({ state, n: found[index] ?? 0 })), { state: 'rejected' as const, n: rejected }]
    return whole(all.map(({ state, n }) => ({ state, count: Math.min(n, MOST_COUNTED), is_complete: n <= MOST_COUNTED })))
  },
  table: ['Deliveries by state', ['state', 'count', ['more', (row) => (row.is_complete ? null : 'or more')]], 'No deliveries.'],
})

export const operations = [list, counts, show, changes]
