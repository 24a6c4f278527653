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
} from '../../store/inbox/queries.ts'
import { RejectedStore } from '../../store/inbox/rejected.ts'
import { searchDeliveries } from '../../store/inbox/search.ts'
import { withInsured } from '../../store/mirror/insured.ts'
import { refuseUnknownNames, wholeId } from '../actions/names.ts'
import { NotFoundError } from '../output/refusals.ts'
import { record, time } from '../output/schema.ts'
import { printableLine } from '../output/text.ts'
import { deliveryText, filters, inboxStates, keptBody, keptHeaders } from './delivery-parts.ts'
import { cursorOf, deliveryId, filterOf, numberIn, page, pageOf, paging, whole } from './inputs.ts'
import { type OperationContext, operation } from './operation.ts'

const entry = z.object({
  inbox_id: z.int().describe('its number'),
  delivery_id: z.string().describe('the svix-id'),
  account: z.string(),
  received_at: time,
  state: z.enum(inboxStates),
  kind: z.string().nullable(),
  what: z.string().nullable().describe('what it told: the type of its first event, or of its message, and the market'),
  submission_id: z.string().nullable(),
  attempts: z.int(),
  error: z.string().nullable(),
  insured_name: z.string().nullable().describe('of its submission'),
})

type Search = Pick<z.output<typeof listed>, 'kind' | 'text'>
const listed = z.strictObject({ state: z.enum(inboxStates).optional().describe('only in this state'), ...filters, ...paging })

const list = operation({
  name: 'inbox.list',
  summary: 'list stored deliveries, the newest first',
  description:
    'Without headers and bodies: `done` was applied, `dead` and `aside` were not. With `kind` or `text` it looks through some thousands at a ' +
    'time: a page may hold fewer than `limit`, even none, and there is a next one.',
  role: 'viewer',
  http: 'GET /inbox',
  hasCsv: true,
  tool: 'list_deliveries',
  input: listed,
  output: pageOf(entry.meta({ id: 'Delivery' })),
  run: async (c, { limit, cursor, kind, text, ...chosen }) => {
    await refuseUnknownNames(c.db.read, c.config, chosen)
    const found = await pageFound(c, { ...filterOf(c, chosen), after: numberIn(cursor) }, { kind, text }, limit)
    return { ...found, items: await withInsured(c.db.read, found.items) }
  },
  table: [
    'Deliveries, the newest first',
    [
      ...(['inbox_id', 'delivery_id', 'account', 'received_at', 'state', 'kind'] as const),
      ['what happened', (delivery) => delivery.what],
      ...(['insured_name', 'submission_id', 'attempts', 'error'] as const),
    ],
    'No delivery.',
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

const byId = z.strictObject({ id: deliveryId.describe('its svix-id (the beginning will do), or its number in the list') })

/** @throws NotFoundError if there are none, ConflictError if several begin so. */
async function deliveriesNamed(q: Query, id: string): Promise<readonly InboxDelivery[]> {
  const deliveries = await findDeliveries(q, await wholeId(id, (text, limit) => deliveryIdsLike(q, text, limit)))
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
        secret: z.int().describe("which of the account's webhook secrets verified it, from 1"),
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

/** The changes that webhooks made to the submission of a delivery from its arrival to its settling. */
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
  summary: 'list what deliveries became: the changes that webhooks made to their submission between their arrival and their settling',
  description:
    'For each delivery of that id at most 200. Another delivery of the same submission in that time is among them; no row notes which delivery ' +
    'changed it.',
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
      'It changed nothing: the mirror had all of it, or it only caused a read.',
    ),
})

const MOST_COUNTED = 1_000

const counts = operation({
  name: 'inbox.counts',
  summary: `count deliveries by state, and those that were refused and not accepted later, each up to ${MOST_COUNTED}`,
  role: 'viewer',
  http: 'GET /inbox/counts',
  input: z.strictObject({ account: filters.account }),
  output: pageOf(
    record('DeliveryCount', {
      state: z.enum([...inboxStates, 'refused']),
      count: z.int(),
      is_complete: z.boolean().describe('false: there may be more'),
    }),
  ),
  run: async (c, { account }) => {
    await refuseUnknownNames(c.db.read, c.config, { account })
    const refused = (await new RejectedStore(c.db, c.log).list({ account, isOpen: true, limit: MOST_COUNTED + 1 })).length
    const found = await Promise.all(inboxStates.map((state) => countDeliveries(c.db.read, { account, state }, MOST_COUNTED)))
    const all = [...inboxStates.map((state, index) => ({ state, n: found[index] ?? 0 })), { state: 'refused' as const, n: refused }]
    return whole(all.map(({ state, n }) => ({ state, count: Math.min(n, MOST_COUNTED), is_complete: n <= MOST_COUNTED })))
  },
  table: ['Deliveries by state', ['state', 'count', ['more', (one) => (one.is_complete ? null : 'or more')]], 'No delivery.'],
})

/** `inbox list|counts|show|changes` */
export const operations = [list, counts, show, changes]
