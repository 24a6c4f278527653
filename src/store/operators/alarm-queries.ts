import { sql } from 'kysely'
import { mainReads, readKinds } from '../../model/reads.ts'
import { type TimeText, timeFromMs } from '../../model/time.ts'
import type { Query } from '../engine/db.ts'
import { timeValue } from '../engine/sql.ts'
import { rank } from '../reads/reads.ts'
import { hasNoOptionsBut } from '../reconcile/runs.ts'

/** Every query here uses an index and a limit: they run every half minute, whatever the size of the mirror. */
const NEWEST = 500
const AT_MOST = 200
/** Most reads looked at, oldest first, to find one whose submission is not gone. */
const MOST_LOOKED_AT = 20_000
const NEWEST_RUNS = 20
const DAY_MS = 86_400_000

/** Records that polls found and no webhook announced. */
export interface UnannouncedRecords {
  /** Counted up to 500. */
  readonly count: number
  /** When the first of them was found. */
  readonly oldestAt: TimeText | null
}

/**
 * Records that a feed first showed between two times, that happened after `happenedAfter`, and that no webhook has announced since. An older
 * event says nothing: a poll may find it late for other reasons.
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
  const { rows } = await sql<{ n: number; oldest: TimeText | null }>`
    select count(*) as n, min(first_at) as oldest from (
      select * from sync_arrivals where account = ${account} and way = 'feed'
        and first_at > ${timeValue(q, between.after)} and first_at <= ${timeValue(q, between.upTo)}
      order by first_at desc limit ${sql.lit(NEWEST)}) as seen
    where not exists (select 1 from sync_arrivals announced where announced.account = seen.account and announced.entity = seen.entity
        and announced.submission_id = seen.submission_id and announced.record_id = seen.record_id and announced.way = 'webhook')
      and (${recordOf('market_events', 'market_events', 'event_id')} or ${recordOf('thread_messages', 'thread_messages', 'message_id')})`.execute(
    q.sql,
  )
  return { count: rows[0]?.n ?? 0, oldestAt: rows[0]?.oldest ?? null }
}

/** Start of the hour of the account's first webhook; null when there was none. */
export async function firstWebhookHour(q: Query, account: string): Promise<TimeText | null> {
  const row = await q.sql
    .selectFrom('arrival_counts')
    .select('hour')
    .where('account', '=', account)
    .where('webhook', '>', 0)
    .orderBy('hour')
    .limit(1)
    .executeTakeFirst()
  return row?.hour ?? null
}

/** Records that webhooks should have announced, how many of them none did, and the hour of the first of those. */
export interface WebhookLoss {
  readonly expected: number
  readonly lost: number
  readonly since: TimeText | null
}

/** Those of the last day, from the first webhook on: before it there may have been no endpoint. */
export async function webhookLossOfDay(q: Query, account: string): Promise<WebhookLoss> {
  const first = await firstWebhookHour(q, account)
  const dayAgo = timeFromMs(q.clock.now() - DAY_MS)
  return first === null ? { expected: 0, lost: 0, since: null } : await webhookLoss(q, account, first > dayAgo ? first : dayAgo)
}

/** Those since the start of an hour. */
export async function webhookLoss(q: Query, account: string, since: TimeText): Promise<WebhookLoss> {
  const { rows } = await sql<{ expected: number | null; lost: number | null; since: TimeText | null }>`
    select cast(sum(n.webhook + n.poll + n.reconcile) as integer) as expected, cast(sum(n.lost) as integer) as lost,
      min(case when n.lost > 0 then n.hour end) as since
    from arrival_counts n
    where n.account = ${account} and n.hour > ${timeValue(q, since)}
      and (n.entity <> 'market_events' or not exists (
        select 1 from sync_accounts c where c.account = n.account and c.events_unreadable_at is not null))`.execute(q.sql)
  return { expected: rows[0]?.expected ?? 0, lost: rows[0]?.lost ?? 0, since: rows[0]?.since ?? null }
}

/** Rejected deliveries of one account and reason. */
export interface RejectedCount {
  readonly account: string
  readonly reason: string
  readonly count: number
  readonly lastAt: TimeText
}

/** Deliveries rejected since a time. The table holds at most a thousand rows. */
export async function rejectedSince(q: Query, since: TimeText): Promise<RejectedCount[]> {
  const { rows } = await sql<{ account: string; reason: string; n: number; last: TimeText }>`
    select account, reason, count(*) as n, max(received_at) as last from sync_rejected
    where account is not null and replayed_at is null and received_at > ${timeValue(q, since)}
    group by account, reason`.execute(q.sql)
  return rows.map(({ account, reason, n, last }) => ({ account, reason, count: n, lastAt: last }))
}

/** Conflicts and unreadable items recorded since a time; each counted up to 200. */
export async function newEvidence(
  q: Query,
  account: string,
  since: TimeText,
): Promise<{ readonly conflicts: number; readonly unreadable: number }> {
  const count = (table: string) => sql`(select count(*) from (
    select 1 from ${sql.table(table)} where account = ${account} and seen_at > ${timeValue(q, since)} limit ${sql.lit(AT_MOST)}) as capped)`
  const { rows } = await sql<{ conflicts: number; unreadable: number }>`
    select ${count('sync_conflicts')} as conflicts, ${count('sync_unreadable')} as unreadable`.execute(q.sql)
  return { conflicts: rows[0]?.conflicts ?? 0, unreadable: rows[0]?.unreadable ?? 0 }
}

/** The newest successful read of an account; null when there is none. */
export async function newestRead(q: Query, account: string): Promise<TimeText | null> {
  // A kind of read at a time, so that each goes by the index of freshness; in one statement, for it is asked every few seconds.
  const parts = readKinds.map(
    (read) => sql`select * from (select last_read_at as at from sync_reads
      where account = ${account} and read = ${sql.lit(read)} and last_read_at is not null order by last_read_at desc limit 1) as part`,
  )
  const { rows } = await sql<{ at: TimeText | null }>`select max(at) as at from (${sql.join(parts, sql` union all `)}) as parts`.execute(
    q.sql,
  )
  return rows[0]?.at ?? null
}

/**
 * Reads that fail or whose cursor is stalled, without those that got "not found": how many (of the 200 due first), and how many of them for at
 * least `often` attempts.
 */
export async function failingReads(
  q: Query,
  account: string,
  often: { readonly failures: number; readonly stalledWalks: number },
): Promise<{ readonly failing: number; readonly longFailing: number }> {
  const { rows } = await sql<{ failing: number; long: number }>`
    select count(*) as failing,
      count(case when failures >= ${sql.lit(often.failures)} or stalled_walks >= ${sql.lit(often.stalledWalks)} then 1 end) as long
    from (
      select failures, not_found, stalled_walks from sync_reads where account = ${account} and rank = ${sql.lit(rank.failing)}
      order by due_at limit ${sql.lit(AT_MOST)}) as first_due
    where not_found = 0 and failures + stalled_walks > 0`.execute(q.sql)
  return { failing: rows[0]?.failing ?? 0, longFailing: rows[0]?.long ?? 0 }
}

/** The oldest last read among the submissions that the service shows; null when there is none. */
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
  const { rows } = await sql<{ at: TimeText | null }>`select min(at) as at from (${sql.join(parts, sql` union all `)}) as parts`.execute(
    q.sql,
  )
  return rows[0]?.at ?? null
}

/** Since when the account is served and its reconcile schedule holds; null when it never was. */
export async function scheduledSince(q: Query, account: string): Promise<TimeText | null> {
  const row = await q.sql.selectFrom('sync_reconcile').select('since').where('account', '=', account).executeTakeFirst()
  return row?.since ?? null
}

/** Whether a complete, repairing run of the account was in progress at or after a time. Only its newest runs are searched. */
export async function reconciledSince(q: Query, account: string, since: TimeText): Promise<boolean> {
  const rows = await q.sql
    .selectFrom('reconcile_runs')
    .select(['started_at', 'updated_at'])
    .where('account', '=', account)
    .where(hasNoOptionsBut(q, 'options', ['concurrency']))
    .orderBy('requested_at', 'desc')
    .limit(NEWEST_RUNS)
    .execute()
  return rows.some(({ started_at, updated_at }) => started_at !== null && updated_at >= since)
}
