import { type RawBuilder, type Selectable, sql } from 'kysely'
import type { TimeText } from '../../model/time.ts'
import type { Db, Query } from '../engine/db.ts'
import { wake } from '../engine/notify.ts'
import { dbTime, distinctIn, idsLike, timeValue, unindexed } from '../engine/sql.ts'
import type { InboxState, InboxTable } from '../schema/inbox.ts'
import { fitting, type InboxSearch, type Looked } from './fits.ts'

/** Which deliveries to list; fields left out do not narrow. */
export interface InboxFilter {
  readonly state?: InboxState | undefined
  readonly account?: string | undefined
  readonly submissionId?: string | undefined
  /** Received at or after this time. */
  readonly since?: TimeText | undefined
  /** Received before this time. */
  readonly until?: TimeText | undefined
  /** Only deliveries behind the one with this number: older ones. */
  readonly after?: number | undefined
}

const ENTRY = ['inbox_id', 'delivery_id', 'account', 'received_at', 'state', 'kind', 'what', 'submission_id', 'attempts', 'error'] as const

/** A delivery in lists: without its body. */
export type InboxEntry = Readonly<Pick<Selectable<InboxTable>, (typeof ENTRY)[number]>>

/** A delivery with everything that is stored of it. */
export type InboxDelivery = Readonly<Omit<Selectable<InboxTable>, 'lease_token'>>

/** Deliveries that match the filter, the newest first. */
export async function listDeliveries(q: Query, filter: InboxFilter, limit: number): Promise<InboxEntry[]> {
  const columns = sql.join(ENTRY.map((column) => sql.ref(column)))
  const query = overParts(filter, sql`desc`, limit, (part) => {
    return sql`select ${columns} from sync_inbox where ${matches(q, part)} order by ${place(q, part)}`
  })
  const { rows } = await sql<InboxEntry>`${query}`.execute(q.sql)
  return rows
}

/** @returns the number in `text`, or null when no row can have it. */
export function numberIn(text: string): number | null {
  return /^\d{1,15}$/.test(text) ? Number(text) : null
}

/** The deliveries with that `svix-id` (one per account that received it), or the one with that inbox id when `id` is a number. */
export async function findDeliveries(q: Query, id: string): Promise<InboxDelivery[]> {
  const query = q.sql.selectFrom('sync_inbox').select([...ENTRY, 'available_at', 'settled_at', 'secret', 'headers', 'body'])
  const known = sql<boolean>`account in ${distinctIn('sync_inbox', 'account')}`
  const byDelivery = await query.where(known).where('delivery_id', '=', id).orderBy('account').execute()
  const inboxId = numberIn(id)
  if (byDelivery.length > 0 || inboxId === null) return byDelivery
  return await query.where('inbox_id', '=', inboxId).execute()
}

/** The `svix-id`s that a shortened one may stand for; none for a number. */
export async function deliveryIdsLike(q: Query, shortened: string, limit: number): Promise<string[]> {
  if (numberIn(shortened) !== null) return []
  const { rows: accounts } = await sql<{ value: string }>`select value from ${distinctIn('sync_inbox', 'account')} as known`.execute(q.sql)
  const found: string[] = []
  for (const { value: account } of accounts)
    found.push(...(await idsLike(q, 'sync_inbox', 'delivery_id', shortened, { where: sql`account = ${account}`, limit })))
  return [...new Set(found)].slice(0, limit)
}

/**
 * One step of making stored deliveries ready or setting them aside: it looks at up to `limit` of them by id. Deliveries without body are left
 * alone.
 * @returns how many it changed, and where the next step begins; null at the end.
 */
export async function changeDeliveries(db: Db, change: typeof makeReady, filter: InboxFilter & InboxSearch, after: number, limit: number) {
  const query = overParts(filter, sql`asc`, limit, (part) => {
    const number = place(db.read, part)
    return sql`
      select inbox_id, account, delivery_id, kind, what, error, submission_id from sync_inbox
      where ${matches(db.read, part)} and ${number} > ${after} and body is not null order by ${number}`
  })
  const { rows } = await sql<Looked & Pick<InboxEntry, 'inbox_id'>>`${query}`.execute(db.read.sql)
  const ids = (await fitting(rows, filter)).map((row) => row.inbox_id)
  const changed = ids.length > 0 ? await change(db, ids) : 0
  return { changed, nextAfter: rows.length < limit ? null : (rows.at(-1)?.inbox_id ?? null) }
}

/** Counts those that `makeReady` would make ready; it changes nothing. */
export async function countReplayable({ read: q }: Db, inboxIds: readonly number[]): Promise<number> {
  const { rows } = await sql<{ n: number }>`
    select count(*) as n from sync_inbox where inbox_id in (${sql.join(inboxIds)}) and body is not null
      and (state <> 'ready' or (lease_token is null and available_at > ${dbTime(q)}))`.execute(q.sql)
  return rows[0]?.n ?? 0
}

/** Counts those that `setAside` would set aside; it changes nothing. */
export async function countDead({ read: q }: Db, inboxIds: readonly number[]): Promise<number> {
  const { rows } = await sql<{ n: number }>`
    select count(*) as n from sync_inbox where inbox_id in (${sql.join(inboxIds)}) and state = 'dead'`.execute(q.sql)
  return rows[0]?.n ?? 0
}

/**
 * Makes deliveries ready as if they had just arrived, whatever became of them; one that waits for its next attempt is due at once. Deliveries
 * already due or claimed are left alone. When one was settled before stays: that tells a replay.
 * @returns how many.
 */
export function makeReady(db: Db, inboxIds: readonly number[]): Promise<number> {
  return db.write('inbox-replay', async (tx) => {
    const now = dbTime(tx)
    const result = await tx.sql
      .updateTable('sync_inbox')
      .set({ state: 'ready', attempts: 0, available_at: now, lease_token: null, error: null })
      .where('inbox_id', 'in', inboxIds)
      // While a delivery is claimed, its lease is what moves `available_at` on.
      .where(({ and, eb, or }) => or([eb('state', '<>', 'ready'), and([eb('lease_token', 'is', null), eb('available_at', '>', now)])]))
      .where('body', 'is not', null)
      .executeTakeFirst()
    wake(tx, 'inbox')
    return Number(result.numUpdatedRows)
  })
}

/**
 * Sets dead deliveries aside, for retention to remove later; `error` still says why they died. Others are left alone.
 * @returns how many.
 */
export function setAside(db: Db, inboxIds: readonly number[]): Promise<number> {
  return db.write('inbox-skip', async (tx) => {
    const result = await tx.sql
      .updateTable('sync_inbox')
      .set({ state: 'aside', settled_at: dbTime(tx) })
      .where('inbox_id', 'in', inboxIds)
      .where('state', '=', 'dead')
      .executeTakeFirst()
    return Number(result.numUpdatedRows)
  })
}

/** Counts the deliveries in a state by its index, up to `most` and one more. */
export async function countDeliveries(q: Query, { state, account }: { state: InboxState; account?: string | undefined }, most: number) {
  const { rows } = await sql<{ n: number }>`
    select count(*) as n from (
      select 1 from sync_inbox where ${matches(q, { state, account, isWorked: state === 'done' })} limit ${sql.lit(most + 1)}) as counted`.execute(
    q.sql,
  )
  return rows[0]?.n ?? 0
}

/**
 * How many deliveries there are of each account and state. It counts them all, by indexes: for people, not for a timer. What is done is what
 * is left of an account's, for no index tells of it.
 */
export async function countInbox(q: Query): Promise<{ account: string; state: InboxState; count: number }[]> {
  const { rows } = await sql<{ account: string; state: InboxState; count: number }>`
    select account, 'done' as state, count(*) as count from sync_inbox where state <> 'ready' group by account
    union all select account, state, count(*) from sync_inbox where state in ('aside', 'dead') group by account, state
    union all select ${unindexed(q, 'account')}, 'ready', count(*) from sync_inbox where state = 'ready' group by 1`.execute(q.sql)
  const others = rows.filter(({ state }) => state === 'aside' || state === 'dead')
  return rows.map((row) => {
    if (row.state !== 'done') return row
    const left = others.filter(({ account }) => account === row.account).reduce((count, other) => count - other.count, row.count)
    return { ...row, count: left }
  })
}

/** A filter with a state, or of all that were worked on. */
interface Part extends InboxFilter {
  readonly isWorked?: boolean
}

/**
 * A query over deliveries, cut so that an index serves each part: those of an account that are ready have another than those that were worked
 * on. An index of all would cost each acknowledgement.
 * @param select a part's query up to the direction of its order; it has the column `inbox_id`.
 */
function overParts(filter: InboxFilter, direction: RawBuilder<unknown>, limit: number, select: (part: Part) => RawBuilder<unknown>) {
  const end = sql`${direction} limit ${sql.lit(limit)}`
  if (filter.account === undefined || filter.state !== undefined || filter.submissionId !== undefined) return sql`${select(filter)} ${end}`
  const parts = [{ ...filter, isWorked: true }, { ...filter, state: 'ready' } as const].map(
    (part) => sql`select * from (${select(part)} ${end}) as part`,
  )
  return sql`${sql.join(parts, sql` union all `)} order by inbox_id ${end}`
}

/**
 * The conditions of a filter, so that one index serves: that of the submission, of the few that have a state, or of those of the account that
 * were worked on. The state stands in the text, without which an index of that state does not serve.
 */
function matches(q: Query, filter: Part): RawBuilder<unknown> {
  const { state, account, submissionId } = filter
  const ofSubmission = submissionId !== undefined
  const isStopped = state === 'aside' || state === 'dead'
  const conditions = [sql`1 = 1`]
  if (state !== undefined) conditions.push(sql`state = ${sql.lit(state)}`)
  if (filter.isWorked || (state === 'done' && account !== undefined)) conditions.push(sql`state <> 'ready'`)
  if (isStopped) conditions.push(sql`state in ('aside', 'dead')`)
  // What is ready has an index of its own, without the account.
  if (account !== undefined)
    conditions.push(sql`${state === 'ready' && !ofSubmission ? unindexed(q, 'account') : sql`account`} = ${account}`)
  else if (ofSubmission) conditions.push(sql`account in ${distinctIn('sync_inbox', 'account')}`)
  if (ofSubmission) conditions.push(sql`submission_id = ${submissionId}`)
  if (filter.since !== undefined) conditions.push(sql`received_at >= ${timeValue(q, filter.since)}`)
  if (filter.until !== undefined) conditions.push(sql`received_at < ${timeValue(q, filter.until)}`)
  if (filter.after !== undefined) conditions.push(sql`${place(q, filter)} < ${filter.after}`)
  return sql.join(conditions, sql` and `)
}

/** A delivery's place in the list: by its number, unless its state or its submission has an index. */
function place(q: Query, { state, account, submissionId }: Part): RawBuilder<unknown> {
  const byNumber = submissionId === undefined ? state === undefined || state === 'done' : account !== undefined
  return byNumber ? sql`inbox_id` : unindexed(q, 'inbox_id')
}
