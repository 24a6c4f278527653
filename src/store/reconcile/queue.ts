import { type RawBuilder, sql } from 'kysely'
import { entities } from '../../model/entities.ts'
import { hasValue } from '../../model/merge.ts'
import { readKinds } from '../../model/reads.ts'
import type { TimeText } from '../../model/time.ts'
import type { Query } from '../engine/db.ts'
import { dbTime, distinctIn, timeValue } from '../engine/sql.ts'
import type { RunOptions } from '../schema/reconcile.ts'
import type { RunRow } from './runs.ts'

/** A submission without any movement for this long is dormant. The poller uses the same limit. */
const DORMANT_AFTER_MS = 90 * 86_400_000

/**
 * A submission is known while one of these tables has a row of it, so one whose other rows are lost is found. Of `sync_proofs` only proved
 * rows count: an id that was visited and never proved need not be a submission. Documents follow from other tables.
 */
const KNOWN_BY = [...entities.filter(({ read }) => read !== 'document').map(({ table }) => table), 'sync_reads', 'sync_proofs']

/** A submission as a run finds it. */
export interface Candidate {
  readonly submissionId: string
  /** The run that proved it; if none has, the last one that visited it. */
  readonly runId: string | null
  readonly visitedAt: TimeText | null
  readonly provedAt: TimeText | null
  /** The run's options include it. */
  readonly wanted: boolean
  /** The events feed was never read to its end, so old records in it are history, not news. Likewise `firstThread`. */
  readonly firstEvents: boolean
  readonly firstThread: boolean
  readonly eventsReadAt: TimeText | null
  readonly threadReadAt: TimeText | null
  /** Some of its rows in `sync_reads` are missing: without them it is never polled. */
  readonly unpolled: boolean
  readonly unreachableSince: TimeText | null
}

/** Where a page ends. */
export interface ProofPosition {
  readonly provedAt: TimeText
  readonly submissionId: string
}

interface CandidateRow {
  submission_id: string
  run_id: string | null
  visited_at: TimeText | null
  proved_at: TimeText | null
  wanted: number
  first_events: number
  first_thread: number
  events_read_at: TimeText | null
  thread_read_at: TimeText | null
  reads: number
  unreachable_since: TimeText | null
}

/** Submissions of an account behind `after`, by id. */
export async function candidatesById(q: Query, account: string, options: RunOptions, after: string, limit: number): Promise<Candidate[]> {
  const pages = KNOWN_BY.map((table) => idsIn(table, account, after, limit))
  const ids = sql`select submission_id from (${sql.join(pages, sql` union `)}) as known order by submission_id limit ${sql.lit(limit)}`
  return details(q, account, options, ids, sql`ids.submission_id`)
}

/** The known ones among the given submissions. */
export async function candidatesOf(q: Query, account: string, options: RunOptions, ids: readonly string[]): Promise<Candidate[]> {
  const list = JSON.stringify(ids)
  const given =
    q.kind === 'sqlite'
      ? sql`select value as submission_id from json_each(${list})`
      : sql`select value as submission_id from json_array_elements_text(${list}::json)`
  const has = (table: string) =>
    sql`exists (select 1 from ${sql.table(table)} as k
      where k.account = ${account} and k.submission_id = given.submission_id ${provedIn(table)})`
  const known = sql`select submission_id from (${given}) as given where ${sql.join(KNOWN_BY.map(has), sql` or `)}`
  return details(q, account, options, known, sql`ids.submission_id`)
}

/** Proved submissions behind `after`, the oldest proof first. */
export async function candidatesByProof(
  q: Query,
  account: string,
  options: RunOptions,
  after: ProofPosition | null,
  limit: number,
): Promise<Candidate[]> {
  const behind = after === null ? sql`` : sql`and (o.proved_at, o.submission_id) > (${timeValue(q, after.provedAt)}, ${after.submissionId})`
  const ids = sql`select o.submission_id, o.proved_at as proved from sync_proofs o where o.account = ${account} and o.proved_at is not null ${behind}
    order by o.proved_at, o.submission_id limit ${sql.lit(limit)}`
  return details(q, account, options, ids, sql`ids.proved, ids.submission_id`)
}

/** The newest proof of an account; null when nothing was ever proved. */
export async function newestProof(q: Query, account: string): Promise<TimeText | null> {
  const { newest } = await q.sql
    .selectFrom('sync_proofs')
    .select((eb) => eb.fn.max<TimeText | null>('proved_at').as('newest'))
    .where('account', '=', account)
    .executeTakeFirstOrThrow()
  return newest
}

/**
 * When the first other run of the account started after this resumed one; null for never. Visits since then may be that run's.
 */
export async function nextOtherRunStart(q: Query, run: Pick<RunRow, 'run_id' | 'account' | 'started_at'>): Promise<TimeText | null> {
  const { first } = await q.sql
    .selectFrom('reconcile_runs')
    .select((eb) => eb.fn.min<TimeText | null>('started_at').as('first'))
    .where('account', '=', run.account)
    .where('run_id', '<>', run.run_id)
    .where('started_at', '>', timeValue(q, run.started_at))
    .executeTakeFirstOrThrow()
  return first
}

/** The distinct ids in a table: some have many rows. */
function idsIn(table: string, account: string, after: string, limit: number): RawBuilder<unknown> {
  const where = sql`account = ${account} ${provedIn(table)}`
  return sql`select value as submission_id from ${distinctIn(table, 'submission_id', { where, after, limit })} as ${sql.ref(`of_${table}`)}`
}

function provedIn(table: string): RawBuilder<unknown> {
  return table === 'sync_proofs' ? sql`and proved_at is not null` : sql``
}

async function details(
  q: Query,
  account: string,
  options: RunOptions,
  ids: RawBuilder<unknown>,
  order: RawBuilder<unknown>,
): Promise<Candidate[]> {
  const { rows } = await sql<CandidateRow>`
    with ids as (${ids})
    select ids.submission_id, p.run_id, p.visited_at, p.proved_at, s.unreachable_since,
      case when ${wanted(q, account, options)} then 1 else 0 end as wanted,
      case when e.last_replay_at is null then 1 else 0 end as first_events,
      case when t.last_replay_at is null then 1 else 0 end as first_thread,
      e.last_read_at as events_read_at, t.last_read_at as thread_read_at,
      ${readCount(account)} as reads
    from ids
    left join sync_proofs p on p.account = ${account} and p.submission_id = ids.submission_id
    left join submissions s on s.account = ${account} and s.submission_id = ids.submission_id
    left join sync_reads e on e.account = ${account} and e.submission_id = ids.submission_id and e.read = 'events'
    left join sync_reads t on t.account = ${account} and t.submission_id = ids.submission_id and t.read = 'thread'
    order by ${order}`.execute(q.sql)
  // SQLite allows a blob as an id. It sorts last and names no submission.
  const named = rows.filter((row) => typeof row.submission_id === 'string')
  return named.map((row) => ({
    submissionId: row.submission_id,
    runId: row.run_id,
    visitedAt: row.visited_at,
    provedAt: row.proved_at,
    wanted: Number(row.wanted) === 1,
    firstEvents: Number(row.first_events) === 1,
    firstThread: Number(row.first_thread) === 1,
    eventsReadAt: row.events_read_at,
    threadReadAt: row.thread_read_at,
    unpolled: Number(row.reads) < readKinds.length,
    unreachableSince: hasValue(row.unreachable_since) ? row.unreachable_since : null,
  }))
}

/** How many of its reads a submission has. */
function readCount(account: string): RawBuilder<unknown> {
  return sql`(select count(*) from sync_reads r where r.account = ${account} and r.submission_id = ids.submission_id
    and r.read in (${sql.join(readKinds)}))`
}

/** Submissions without all their reads are included: nobody knows whether they moved. */
function wanted(q: Query, account: string, options: RunOptions): RawBuilder<unknown> {
  const conditions = [sql`1 = 1`]
  const movedSince = (at: RawBuilder<unknown>) =>
    sql`(${readCount(account)} < ${sql.lit(readKinds.length)} or exists (
      select 1 from sync_reads a where a.account = ${account} and a.submission_id = ids.submission_id and a.active_at >= ${at}))`
  if (options.since !== undefined) conditions.push(movedSince(timeValue(q, options.since)))
  if (options.active_only) conditions.push(movedSince(dbTime(q, -DORMANT_AFTER_MS)))
  return sql.join(conditions, sql` and `)
}
