import { sql } from 'kysely'
import { mainReads, readKinds } from '../../model/reads.ts'
import { type TimeText, timeFromMs } from '../../model/time.ts'
import type { Query } from '../engine/db.ts'
import { timeValue } from '../engine/sql.ts'
import { rank } from '../reads/reads.ts'
import { hasNoOptionsBut } from '../reconcile/runs.ts'
import type { Columns } from '../schema/tables.ts'

/** Maximum rows that a query below examines. Alarms are evaluated every 10 s, so each query must also use an index. */
const NEWEST = 500
const AT_MOST = 200
/** Maximum reads to examine, oldest first, to find a submission that the service still shows. */
const MOST_LOOKED_AT = 20_000
const NEWEST_RUNS = 20
const DAY_MS = 86_400_000

/** SQL condition: no webhook announced the record of a row of `sync_arrivals`. The query must name this row `seen`. */
export const isUnannounced = sql`not exists (
  select 1 from sync_arrivals as announced
  where announced.account = seen.account and announced.entity = seen.entity and announced.submission_id = seen.submission_id
    and announced.record_id = seen.record_id and announced.way = 'webhook')`

export interface UnannouncedRecords {
  /** At most 500, because only the newest 500 records of the period are examined. */
  readonly count: number
  /** When a feed showed the first counted record; null if `count` is 0. */
  readonly oldestAt: TimeText | null
}

/**
 * Counts records that a feed first showed in the period and that no webhook announced.
 * The period is after `after`, up to and including `upTo`. Counts only records that occurred after `happenedAfter`.
 */
export async function unannouncedRecords(
  q: Query,
  account: string,
  between: { readonly after: TimeText; readonly upTo: TimeText; readonly happenedAfter: TimeText },
): Promise<UnannouncedRecords> {
  const happened = timeValue(q, between.happenedAfter)
  const recordOf = (entity: string, table: string, id: string) => sql`
    exists (select 1 from ${sql.table(table)} r where seen.entity = ${sql.lit(entity)} and r.account = seen.account
      and r.submission_id = seen.submission_id and r.${sql.ref(id)} = seen.record_id and r.occurred_at > ${happened})`
  const row = await q.one(sql<{ n: number; oldest: TimeText | null }>`
    select count(*) as n, min(first_at) as oldest from (
      select * from sync_arrivals where account = ${account} and way = 'feed'
        and first_at > ${timeValue(q, between.after)} and first_at <= ${timeValue(q, between.upTo)}
      order by first_at desc limit ${sql.lit(NEWEST)}) as seen
    where ${isUnannounced} and (${recordOf('market_events', 'market_events', 'event_id')} or ${recordOf('thread_messages', 'thread_messages', 'message_id')})`)
  return { count: row?.n ?? 0, oldestAt: row?.oldest ?? null }
}

/** @returns the start of the hour of the account's first webhook; null if no webhook arrived yet. */
export async function firstWebhookHour(q: Query, account: string): Promise<TimeText | null> {
  const row = await q.one(sql<Columns<'arrival_counts', 'hour'>>`
    select hour from arrival_counts where account = ${account} and webhook > 0 order by hour limit 1`)
  return row?.hour ?? null
}

/**
 * `expected`: number of records that webhooks should have announced.
 * `lost`: number of records that no webhook announced.
 * `since`: hour of the first lost record; null if no record was lost.
 */
export interface WebhookLoss {
  readonly expected: number
  readonly lost: number
  readonly since: TimeText | null
}

/**
 * Counts the records of the last 24 hours whose webhook was expected, and the records whose webhook was lost.
 * The count begins after the hour of the account's first webhook, because the account may have had no webhook endpoint
 * before.
 */
export async function webhookLossOfDay(q: Query, account: string): Promise<WebhookLoss> {
  const first = await firstWebhookHour(q, account)
  const day = dayAgo(q)
  return first === null ? { expected: 0, lost: 0, since: null } : await webhookLoss(q, account, first > day ? first : day)
}

function dayAgo({ clock }: Query): TimeText {
  return timeFromMs(clock.now() - DAY_MS)
}

export async function webhookLoss(q: Query, account: string, since = dayAgo(q)): Promise<WebhookLoss> {
  const row = await q.one(sql<{ expected: number | null; lost: number | null; since: TimeText | null }>`
    select cast(sum(n.webhook + n.poll + n.reconcile) as integer) as expected, cast(sum(n.lost) as integer) as lost,
      min(case when n.lost > 0 then n.hour end) as since
    from arrival_counts n
    where n.account = ${account} and n.hour > ${timeValue(q, since)}
      and (n.entity <> 'market_events' or not exists (
        select 1 from sync_accounts c where c.account = n.account and c.events_unreadable_at is not null))`)
  return { expected: row?.expected ?? 0, lost: row?.lost ?? 0, since: row?.since ?? null }
}

export interface RejectedCount {
  readonly account: string
  readonly reason: string
  readonly count: number
  readonly last_at: TimeText
}

/**
 * Counts deliveries that were rejected after a time and not accepted later, by account and reason.
 * Leaves out deliveries without an account. Reads the whole table, which has at most 1,000 rows.
 */
export async function rejectedSince(q: Query, since: TimeText): Promise<RejectedCount[]> {
  return await q.all(sql<RejectedCount>`
    select account, reason, count(*) as count, max(received_at) as last_at from sync_rejected
    where account is not null and replayed_at is null and received_at > ${timeValue(q, since)}
    group by account, reason`)
}

interface Conflicts {
  readonly conflicts: number
  readonly unreadable: number
}

/**
 * Counts an account's conflicts and unreadable items.
 * With `since`, counts only conflicts and items that were seen after `since`, at most 200 of each.
 */
export async function countConflicts(q: Query, account: string, since?: TimeText): Promise<Conflicts> {
  const lately = since === undefined ? sql`` : sql`and seen_at > ${timeValue(q, since)} limit ${sql.lit(AT_MOST)}`
  const count = (table: string) => sql`(select count(*) from (
    select 1 from ${sql.table(table)} where account = ${account} ${lately}) as counted)`
  const row = await q.one(sql<Conflicts>`select ${count('sync_conflicts')} as conflicts, ${count('sync_unreadable')} as unreadable`)
  return row ?? { conflicts: 0, unreadable: 0 }
}

export async function newestRead(q: Query, account: string): Promise<TimeText | null> {
  // A subquery for each kind of read can use the index on `last_read_at`. One query for all kinds can't use the index.
  const parts = readKinds.map(
    (read) => sql`select * from (select last_read_at as at from sync_reads
      where account = ${account} and read = ${sql.lit(read)} and last_read_at is not null order by last_read_at desc limit 1) as part`,
  )
  const row = await q.one(sql<{ at: TimeText | null }>`select max(at) as at from (${sql.join(parts, sql` union all `)}) as parts`)
  return row?.at ?? null
}

/**
 * Numbers of reads that fail or stall. A feed read stalls if it stops before the end of the feed.
 * Examines only the 200 failing or stalled reads that are due first. Leaves out reads that the service answered "not
 * found".
 */
export interface FailingReads {
  /** Reads that failed or stalled at least once. Includes the reads in `often` and `long`. */
  readonly once: number
  /** Reads that failed or stalled 5 or more times in a row. 1 or 2 failures are normal. */
  readonly often: number
  /** Reads that have failed or stalled for about 30 minutes. */
  readonly long: number
}

export async function failingReads(q: Query, account: string): Promise<FailingReads> {
  const atLeast = (failures: number, stalledFeedReads: number) => sql`
    count(case when failures >= ${sql.lit(failures)} or stalled_feed_reads >= ${sql.lit(stalledFeedReads)} then 1 end)`
  const row = await q.one(sql<FailingReads>`
    select count(*) as once, ${atLeast(5, 5)} as often, ${atLeast(12, 60)} as long
    from (
      select failures, not_found, stalled_feed_reads from sync_reads where account = ${account} and rank = ${sql.lit(rank.failing)}
      order by due_at limit ${sql.lit(AT_MOST)}) as first_due
    where not_found = 0 and failures + stalled_feed_reads > 0`)
  return row ?? { once: 0, often: 0, long: 0 }
}

/**
 * Compares the times when each feed and the requirements of each submission were last read. Leaves out submissions that
 * the service no longer shows.
 * @returns the oldest of these times; null if nothing was read yet.
 */
export async function stalestRead(q: Query, account: string): Promise<TimeText | null> {
  const parts = mainReads.map(
    (read) => sql`select * from (
      select last_read_at as at from (
        select submission_id, last_read_at from sync_reads
        where account = ${account} and read = ${sql.lit(read)} and last_read_at is not null
        order by last_read_at limit ${sql.lit(MOST_LOOKED_AT)}) as first_read
      where not exists (select 1 from submissions s where s.account = ${account} and s.submission_id = first_read.submission_id
        and s.unreachable_since is not null)
      order by last_read_at limit 1) as part`,
  )
  const row = await q.one(sql<{ at: TimeText | null }>`select min(at) as at from (${sql.join(parts, sql` union all `)}) as parts`)
  return row?.at ?? null
}

/** @returns when the account got a reconcile schedule; null if it never had one. */
export async function scheduledSince(q: Query, account: string): Promise<TimeText | null> {
  const row = await q.sql.selectFrom('sync_reconcile').select('since').where('account', '=', account).executeTakeFirst()
  return row?.since ?? null
}

/**
 * Examines the account's newest 20 reconcile runs that compare all submissions and correct differences.
 * @returns true if one of these runs was in progress at or after `since`.
 */
export async function reconciledSince(q: Query, account: string, since: TimeText): Promise<boolean> {
  const rows = await q.all(sql<Columns<'reconcile_runs', 'started_at' | 'updated_at'>>`
    select started_at, updated_at from reconcile_runs where account = ${account} and ${hasNoOptionsBut(q, 'options', ['concurrency'])}
    order by requested_at desc limit ${NEWEST_RUNS}`)
  return rows.some(({ started_at, updated_at }) => started_at !== null && updated_at >= since)
}
