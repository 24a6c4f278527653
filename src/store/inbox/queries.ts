import { type RawBuilder, type Selectable, sql } from 'kysely'
import { haveText } from '../../model/search-words.ts'
import type { TimeText } from '../../model/time.ts'
import type { Db, Query } from '../engine/db.ts'
import { wake } from '../engine/notify.ts'
import { numbersWithin } from '../engine/numbers-within.ts'
import { searchRows } from '../engine/search-rows.ts'
import { dbTime, distinctIn, idsLike, timeValue, unindexed } from '../engine/sql.ts'
import type { InboxState, InboxTable } from '../schema/inbox.ts'

/** Filters for deliveries. A missing field matches all deliveries. */
export interface InboxFilter {
  readonly state?: InboxState | undefined
  readonly account?: string | undefined
  readonly submissionId?: string | undefined
  /** Received at or after this time. */
  readonly since?: TimeText | undefined
  /** Received before this time. */
  readonly until?: TimeText | undefined
  /** Only deliveries with a smaller `inbox_id`. */
  readonly after?: number | undefined
}

const RECEIVED = { table: 'sync_inbox', number: 'inbox_id', time: 'received_at' } as const

const ENTRY = ['inbox_id', 'delivery_id', 'account', 'received_at', 'state', 'kind', 'what', 'submission_id', 'attempts', 'error'] as const

/** A delivery in a list, without its body. */
export type InboxEntry = Readonly<Pick<Selectable<InboxTable>, (typeof ENTRY)[number]>>

/** A delivery with all its data. */
export type InboxDelivery = Readonly<Omit<Selectable<InboxTable>, 'lease_token'>>

/** Deliveries that match the filter, newest first. */
export async function listDeliveries(q: Query, filter: InboxFilter, limit: number): Promise<InboxEntry[]> {
  const columns = sql.join(ENTRY.map((column) => sql.ref(column)))
  const within = await numbersWithin(q, RECEIVED, filter)
  const query = overParts({ ...filter, ...within }, sql`desc`, limit, (part) => {
    return sql`select ${columns} from sync_inbox where ${matches(q, part)} order by ${place(q, part)}`
  })
  return await q.all(sql<InboxEntry>`${query}`)
}

/** @returns `text` as a row number; null if `text` isn't a number. */
export function numberIn(text: string): number | null {
  return /^\d{1,15}$/.test(text) ? Number(text) : null
}

/**
 * Finds deliveries by `svix-id`, at most one per account.
 * If no delivery has this `svix-id` and `id` is a number, finds the delivery with this `inbox_id`.
 */
export async function findDeliveries(q: Query, id: string): Promise<InboxDelivery[]> {
  const query = q.sql.selectFrom('sync_inbox').select([...ENTRY, 'available_at', 'settled_at', 'secret', 'headers', 'body'])
  const known = sql<boolean>`account in ${distinctIn('sync_inbox', 'account')}`
  const byDelivery = await query.where(known).where('delivery_id', '=', id).orderBy('account').execute()
  const inboxId = numberIn(id)
  if (byDelivery.length > 0 || inboxId === null) return byDelivery
  return await query.where('inbox_id', '=', inboxId).execute()
}

/**
 * Finds `svix-id`s that match a shortened id. Finds none if `shortened` is a number, because numbers are `inbox_id`s.
 */
export async function deliveryIdsLike(q: Query, shortened: string, limit: number): Promise<string[]> {
  if (numberIn(shortened) !== null) return []
  const accounts = await q.all(sql<{ value: string }>`select value from ${distinctIn('sync_inbox', 'account')} as known`)
  const found: string[] = []
  for (const { value: account } of accounts)
    found.push(...(await idsLike(q, 'sync_inbox', 'delivery_id', shortened, { where: sql`account = ${account}`, limit })))
  return [...new Set(found)].slice(0, limit)
}

/**
 * Applies `makeReady` or `setAside` to matching deliveries, in id order. Skips deliveries without a body.
 * Reads only deliveries with an `inbox_id` greater than `after`.
 * @param limit maximum deliveries to read in this call.
 * @returns `changed`: number of changed deliveries; `nextAfter`: `after` of the next call, null at the end.
 */
export async function changeDeliveries(db: Db, change: typeof makeReady, filter: InboxFilter & InboxSearch, after: number, limit: number) {
  const within = await numbersWithin(db.read, RECEIVED, filter)
  const query = overParts({ ...filter, ...within }, sql`asc`, limit, (part) => {
    const number = place(db.read, part)
    return sql`
      select inbox_id, account, delivery_id, kind, what, error, submission_id from sync_inbox
      where ${matches(db.read, part)} and ${number} > ${after} and body is not null order by ${number}`
  })
  const rows = await db.read.all(sql<Looked & Pick<InboxEntry, 'inbox_id'>>`${query}`)
  const ids = (await matchingSearch(rows, filter)).map((row) => row.inbox_id)
  const changed = ids.length > 0 ? await change(db, ids) : 0
  return { changed, nextAfter: rows.length < limit ? null : (rows.at(-1)?.inbox_id ?? null) }
}

/** Counts the deliveries that `makeReady` would change. */
export async function countReplayable({ read: q }: Db, inboxIds: readonly number[]): Promise<number> {
  return await q.count(sql<{ n: number }>`
    select count(*) as n from sync_inbox where inbox_id in (${sql.join(inboxIds)}) and body is not null
      and (state <> 'ready' or (lease_token is null and available_at > ${dbTime(q)}))`)
}

/** Counts the deliveries that `setAside` would change. */
export async function countDead({ read: q }: Db, inboxIds: readonly number[]): Promise<number> {
  return await q.count(sql<{ n: number }>`
    select count(*) as n from sync_inbox where inbox_id in (${sql.join(inboxIds)}) and state = 'dead'`)
}

/**
 * Makes deliveries ready as if they had just arrived. A delivery that waits for a retry becomes due now.
 * Doesn't change deliveries without a body, and ready deliveries that are claimed or already due.
 * Keeps `settled_at`. In a ready delivery, a `settled_at` shows that the delivery is replayed.
 * @returns the number of changed deliveries.
 */
export function makeReady(db: Db, inboxIds: readonly number[]): Promise<number> {
  return db.write('inbox-replay', async (tx) => {
    const now = dbTime(tx)
    // `lease_token is null` excludes claimed deliveries, whose `available_at` is the end of the lease.
    const replayed = await tx.run(sql`
      update sync_inbox set state = 'ready', attempts = 0, available_at = ${now}, lease_token = null, error = null
      where inbox_id in (${sql.join(inboxIds)}) and (state <> 'ready' or (lease_token is null and available_at > ${now}))
      and body is not null`)
    wake(tx, 'inbox')
    return replayed
  })
}

/**
 * Sets dead deliveries aside. Retention removes them later. Keeps `error`.
 * @returns the number of changed deliveries.
 */
export function setAside(db: Db, inboxIds: readonly number[]): Promise<number> {
  return db.write('inbox-skip', async (tx) => {
    return await tx.run(sql`
      update sync_inbox set state = 'aside', settled_at = ${dbTime(tx)} where inbox_id in (${sql.join(inboxIds)}) and state = 'dead'`)
  })
}

/** Counts deliveries in a state through an index. If there are more than `most`, returns `most` + 1. */
export async function countDeliveries(q: Query, { state, account }: { state: InboxState; account?: string | undefined }, most: number) {
  return await q.count(sql<{ n: number }>`
    select count(*) as n from (
      select 1 from sync_inbox where ${matches(q, { state, account, isProcessed: state === 'done' })} limit ${sql.lit(most + 1)}) as counted`)
}

/**
 * Counts deliveries by account and state, through indexes. Too slow for timers.
 * State `done` has no index: its count is all processed deliveries, minus `aside` and `dead`.
 */
export async function countInbox(q: Query): Promise<{ account: string; state: InboxState; count: number }[]> {
  const rows = await q.all(sql<{ account: string; state: InboxState; count: number }>`
    select account, 'done' as state, count(*) as count from sync_inbox where state <> 'ready' group by account
    union all select account, state, count(*) from sync_inbox where state in ('aside', 'dead') group by account, state
    union all select ${unindexed(q, 'account')}, 'ready', count(*) from sync_inbox where state = 'ready' group by 1`)
  const others = rows.filter(({ state }) => state === 'aside' || state === 'dead')
  return rows.map((row) => {
    if (row.state !== 'done') return row
    const left = others.filter(({ account }) => account === row.account).reduce((count, other) => count - other.count, row.count)
    return { ...row, count: left }
  })
}

/** Filter of one query. The database can run this query with one index, such as the index of processed deliveries. */
interface Part extends InboxFilter {
  /** Range of `inbox_id` from `numbersWithin`: `from` is inclusive, `to` is exclusive. */
  readonly from?: number
  readonly to?: number
  readonly isProcessed?: boolean
}

/**
 * Builds a query over deliveries.
 * Ready and processed deliveries of an account have separate indexes, because a common index would slow each
 * acknowledgement. A query over ready and processed deliveries combines two parts.
 * @param select builds the query of a part. The query must return `inbox_id`, and end with `order by` without the
 * direction.
 */
function overParts(filter: Part, direction: RawBuilder<unknown>, limit: number, select: (part: Part) => RawBuilder<unknown>) {
  const end = sql`${direction} limit ${sql.lit(limit)}`
  if (filter.account === undefined || filter.state !== undefined || filter.submissionId !== undefined) return sql`${select(filter)} ${end}`
  const parts = [{ ...filter, isProcessed: true }, { ...filter, state: 'ready' } as const].map(
    (part) => sql`select * from (${select(part)} ${end}) as part`,
  )
  return sql`${sql.join(parts, sql` union all `)} order by inbox_id ${end}`
}

/**
 * SQL conditions of a filter, in a form that lets the database use one index, such as the index on the submission.
 * The state is literal SQL. If the state were a parameter, the database couldn't use a partial index.
 */
function matches(q: Query, filter: Part): RawBuilder<unknown> {
  const { state, account, submissionId } = filter
  const ofSubmission = submissionId !== undefined
  const isStopped = state === 'aside' || state === 'dead'
  const conditions = [sql`1 = 1`]
  if (state !== undefined) conditions.push(sql`state = ${sql.lit(state)}`)
  if (filter.isProcessed || (state === 'done' && account !== undefined)) conditions.push(sql`state <> 'ready'`)
  if (isStopped) conditions.push(sql`state in ('aside', 'dead')`)
  // Makes SQLite use the index of ready deliveries, which doesn't contain the account.
  if (account !== undefined)
    conditions.push(sql`${state === 'ready' && !ofSubmission ? unindexed(q, 'account') : sql`account`} = ${account}`)
  else if (ofSubmission) conditions.push(sql`account in ${distinctIn('sync_inbox', 'account')}`)
  if (ofSubmission) conditions.push(sql`submission_id = ${submissionId}`)
  if (filter.since !== undefined) conditions.push(sql`received_at >= ${timeValue(q, filter.since)}`)
  if (filter.until !== undefined) conditions.push(sql`received_at < ${timeValue(q, filter.until)}`)
  if (filter.from !== undefined) conditions.push(sql`${place(q, filter)} >= ${filter.from}`)
  if (filter.to !== undefined) conditions.push(sql`${place(q, filter)} < ${filter.to}`)
  if (filter.after !== undefined) conditions.push(sql`${place(q, filter)} < ${filter.after}`)
  return sql.join(conditions, sql` and `)
}

/**
 * SQL of the sort column `inbox_id`. Prevents SQLite from using the index on `inbox_id` if an index on the state or
 * submission is faster.
 */
function place(q: Query, { state, account, submissionId }: Part): RawBuilder<unknown> {
  const byNumber = submissionId === undefined ? state === undefined || state === 'done' : account !== undefined
  return byNumber ? sql`inbox_id` : unindexed(q, 'inbox_id')
}

/** Searches the deliveries that match a filter, page by page (see `searchRows`). */
export async function searchDeliveries(q: Query, filter: InboxFilter, search: InboxSearch, limit: number) {
  const read = (after: number | undefined, most: number) => listDeliveries(q, { ...filter, after }, most)
  return await searchRows({ read, numberOf: (row) => row.inbox_id, wanted: (rows) => matchingSearch(rows, search) }, filter.after, limit)
}

/** Search criteria that have no index. */
export interface InboxSearch {
  /** Type of the delivery. */
  readonly kind?: string | undefined
  /** Part of the delivery id, error, content, insured's name or submission id. Ignores case and accents. */
  readonly text?: string | undefined
  /** Adds the insured's name to rows. Without this function, `text` isn't compared with names. */
  readonly withInsured?: <T extends Looked>(rows: readonly T[]) => Promise<(T & { readonly insured_name: string | null })[]>
}

interface Looked {
  readonly account: string
  readonly delivery_id: string
  readonly kind: string | null
  readonly error: string | null
  readonly what: string | null
  readonly submission_id: string | null
}

/** @returns the matching rows, in the same order. */
async function matchingSearch<T extends Looked>(rows: readonly T[], { kind, text, withInsured }: InboxSearch): Promise<readonly T[]> {
  const ofKind = rows.filter((row) => kind === undefined || row.kind === kind)
  if (text === undefined) return ofKind
  const named: readonly (T & { readonly insured_name?: string | null })[] = (await withInsured?.(ofKind)) ?? ofKind
  return named.filter((row) => haveText([row.delivery_id, row.error, row.what, row.submission_id, row.insured_name ?? null], text))
}
