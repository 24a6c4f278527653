import { type RawBuilder, sql } from 'kysely'
import { entities } from '../../model/entities.ts'
import { readKinds } from '../../model/reads.ts'
import type { TimeText } from '../../model/time.ts'
import type { Query } from '../engine/db.ts'
import { dbTime, distinctIn, timeValue } from '../engine/sql.ts'
import type { RunOptions } from '../schema/reconcile.ts'
import type { RunRow } from './runs.ts'

/** A submission without activity for this many ms is dormant. The poller has the same limit. */
const DORMANT_AFTER_MS = 90 * 86_400_000

/**
 * A submission is known if one of these tables has a row for it. In `sync_reconciled`, only rows with `reconciled_at`
 * count, because a run also stores visits to ids that don't exist. Tables of documents are left out, because the other
 * tables already have the submissions of all documents.
 */
const KNOWN_BY = [...entities.filter(({ read }) => read !== 'document').map(({ table }) => table), 'sync_reads', 'sync_reconciled']

/** A submission that a run may visit. To visit a submission is to read it from the service and compare. */
export interface Candidate {
  readonly submissionId: string
  /**
   * The run that last reconciled the submission. If no run did, the run that last visited the submission. Null if no
   * run visited it.
   */
  readonly runId: string | null
  readonly visitedAt: TimeText | null
  readonly reconciledAt: TimeText | null
  /** Whether the run's options include the submission. */
  readonly wanted: boolean
  /**
   * `firstEvents`: whether the events feed was never read to its end. If so, events that the mirror lacks are history,
   * not news. `firstThread`: the same for messages.
   */
  readonly firstEvents: boolean
  readonly firstThread: boolean
  readonly eventsReadAt: TimeText | null
  readonly threadReadAt: TimeText | null
  /** Whether one of the submission's reads has no row in `sync_reads`. If so, polling skips that read. */
  readonly unpolled: boolean
  readonly unreachableSince: TimeText | null
}

export interface ReconciledPosition {
  readonly reconciledAt: TimeText
  readonly submissionId: string
}

/** Lists submissions of an account after `after`, by id. */
export async function candidatesById(q: Query, account: string, options: RunOptions, after: string, limit: number): Promise<Candidate[]> {
  const pages = KNOWN_BY.map((table) => idsIn(table, account, after, limit))
  const ids = sql`select submission_id from (${sql.join(pages, sql` union `)}) as known order by submission_id limit ${sql.lit(limit)}`
  return details(q, account, options, ids, sql`ids.submission_id`)
}

/** Lists the known submissions among the given ids. */
export async function candidatesOf(q: Query, account: string, options: RunOptions, ids: readonly string[]): Promise<Candidate[]> {
  const list = JSON.stringify(ids)
  const given =
    q.kind === 'sqlite'
      ? sql`select value as submission_id from json_each(${list})`
      : sql`select value as submission_id from json_array_elements_text(${list}::json)`
  const has = (table: string) =>
    sql`exists (select 1 from ${sql.table(table)} as k
      where k.account = ${account} and k.submission_id = given.submission_id ${reconciledIn(table)})`
  const known = sql`select submission_id from (${given}) as given where ${sql.join(KNOWN_BY.map(has), sql` or `)}`
  return details(q, account, options, known, sql`ids.submission_id`)
}

/**
 * Lists submissions that were reconciled, the least recently reconciled first.
 * @param after the last submission of the previous page; null for the first page.
 */
export async function candidatesByReconciled(
  q: Query,
  account: string,
  options: RunOptions,
  after: ReconciledPosition | null,
  limit: number,
): Promise<Candidate[]> {
  const behind =
    after === null ? sql`` : sql`and (o.reconciled_at, o.submission_id) > (${timeValue(q, after.reconciledAt)}, ${after.submissionId})`
  const ids = sql`select o.submission_id, o.reconciled_at as reconciled from sync_reconciled o where o.account = ${account} and o.reconciled_at is not null ${behind}
    order by o.reconciled_at, o.submission_id limit ${sql.lit(limit)}`
  return details(q, account, options, ids, sql`ids.reconciled, ids.submission_id`)
}

/** @returns the newest `reconciled_at` of the account's submissions; null if no submission was ever reconciled. */
export async function newestReconciled(q: Query, account: string): Promise<TimeText | null> {
  const { newest } = await q.sql
    .selectFrom('sync_reconciled')
    .select((eb) => eb.fn.max<TimeText | null>('reconciled_at').as('newest'))
    .where('account', '=', account)
    .executeTakeFirstOrThrow()
  return newest
}

/**
 * Finds the account's first run that started after this run.
 * @returns its start time; null if there is no such run. Visits after this time may belong to the later run.
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

function idsIn(table: string, account: string, after: string, limit: number): RawBuilder<unknown> {
  const where = sql`account = ${account} ${reconciledIn(table)}`
  return sql`select value as submission_id from ${distinctIn(table, 'submission_id', { where, after, limit })} as ${sql.ref(`of_${table}`)}`
}

function reconciledIn(table: string): RawBuilder<unknown> {
  return table === 'sync_reconciled' ? sql`and reconciled_at is not null` : sql``
}

async function details(
  q: Query,
  account: string,
  options: RunOptions,
  ids: RawBuilder<unknown>,
  order: RawBuilder<unknown>,
): Promise<Candidate[]> {
  const rows = await q.all(sql<
    Omit<Candidate, 'wanted' | 'firstEvents' | 'firstThread' | 'unpolled'> &
      Record<'wanted' | 'firstEvents' | 'firstThread' | 'reads', number>
  >`
    with ids as (${ids})
    select ids.submission_id as "submissionId", p.run_id as "runId", p.visited_at as "visitedAt", p.reconciled_at as "reconciledAt",
      s.unreachable_since as "unreachableSince", e.last_read_at as "eventsReadAt", t.last_read_at as "threadReadAt",
      case when ${wanted(q, account, options)} then 1 else 0 end as wanted,
      case when e.last_full_read_at is null then 1 else 0 end as "firstEvents",
      case when t.last_full_read_at is null then 1 else 0 end as "firstThread", ${readCount(account)} as reads
    from ids
    left join sync_reconciled p on p.account = ${account} and p.submission_id = ids.submission_id
    left join submissions s on s.account = ${account} and s.submission_id = ids.submission_id
    left join sync_reads e on e.account = ${account} and e.submission_id = ids.submission_id and e.id = '' and e.read = 'events'
    left join sync_reads t on t.account = ${account} and t.submission_id = ids.submission_id and t.id = '' and t.read = 'thread'
    order by ${order}`)
  // In SQLite, an id may be a blob. A blob sorts after all texts and isn't the id of a submission.
  const named = rows.filter((row) => typeof row.submissionId === 'string')
  return named.map(({ wanted, firstEvents, firstThread, reads, ...row }) => ({
    ...row,
    wanted: wanted === 1,
    firstEvents: firstEvents === 1,
    firstThread: firstThread === 1,
    unpolled: reads < readKinds.length,
  }))
}

function readCount(account: string): RawBuilder<unknown> {
  return sql`(select count(*) from sync_reads r where r.account = ${account} and r.submission_id = ids.submission_id
    and r.id = '' and r.read in (${sql.join(readKinds)}))`
}

/**
 * Condition: the run's options include the submission. A submission that lacks rows in `sync_reads` is included,
 * because its activity is unknown.
 */
function wanted(q: Query, account: string, options: RunOptions): RawBuilder<unknown> {
  const conditions = [sql`1 = 1`]
  const movedSince = (at: RawBuilder<unknown>) =>
    sql`(${readCount(account)} < ${sql.lit(readKinds.length)} or exists (
      select 1 from sync_reads a where a.account = ${account} and a.submission_id = ids.submission_id and a.active_at >= ${at}))`
  if (options.since !== undefined) conditions.push(movedSince(timeValue(q, options.since)))
  if (options.active_only) conditions.push(movedSince(dbTime(q, -DORMANT_AFTER_MS)))
  return sql.join(conditions, sql` and `)
}
