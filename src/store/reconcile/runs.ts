import { randomUUID } from 'node:crypto'
import { type RawBuilder, sql } from 'kysely'
import { canonicalJson, type Json } from '../../model/json.ts'
import { type TimeText, timeFromMs } from '../../model/time.ts'
import type { Db, Query, TableSpec, Tx } from '../engine/db.ts'
import { timeValue } from '../engine/sql.ts'
import type { FindingKind, ReconcileFindingsTable, ReconcileRunsTable, RunOptions, RunState } from '../schema/tables-reconcile.ts'

export type RunRow = ReconcileRunsTable
export type FindingRow = ReconcileFindingsTable

/** Behind so many narrowed runs nobody looks for a whole one. */
const NEWEST_RUNS = 100

/** Which runs are meant; what is left out does not narrow. */
export interface RunFilter {
  readonly account?: string | undefined
  readonly state?: RunState | undefined
  /** Requested at or after. */
  readonly since?: TimeText | undefined
  /** Only those behind this one in the list: the next page. */
  readonly after?: { readonly requestedAt: TimeText; readonly runId: string } | undefined
  /** 100 when left out. */
  readonly limit?: number | undefined
}

/** Runs, the newest first. */
export async function listRuns(q: Query, filter: RunFilter = {}): Promise<RunRow[]> {
  let query = q.sql.selectFrom('reconcile_runs').selectAll()
  if (filter.account !== undefined) query = query.where('account', '=', filter.account)
  if (filter.state !== undefined) query = query.where('state', '=', filter.state)
  if (filter.since !== undefined) query = query.where('requested_at', '>=', timeValue(q, filter.since))
  const { after } = filter
  if (after !== undefined) {
    const at = timeValue(q, after.requestedAt)
    query = query.where((eb) => eb.or([eb('requested_at', '<', at), eb.and([eb('requested_at', '=', at), eb('run_id', '>', after.runId)])]))
  }
  return query
    .orderBy('requested_at', 'desc')
    .orderBy('run_id')
    .limit(filter.limit ?? 100)
    .execute()
}

/** The run of that id, or null. */
export async function findRun(q: Query, runId: string): Promise<RunRow | null> {
  return (await q.sql.selectFrom('reconcile_runs').selectAll().where('run_id', '=', runId.toLowerCase()).executeTakeFirst()) ?? null
}

/**
 * Runs of the account that have ended, the newest first, up to the newest one that was about all of it. What was stopped says nothing.
 * @returns at most 100, when so many narrowed ones are newer than any whole one.
 */
export async function endedRuns(q: Query, account: string): Promise<RunRow[]> {
  const rows = await q.sql
    .selectFrom('reconcile_runs')
    .selectAll()
    .where('account', '=', account)
    .where('ended_at', 'is not', null)
    .where('started_at', 'is not', null)
    .where('state', '<>', 'stopped')
    .orderBy('requested_at', 'desc')
    .limit(NEWEST_RUNS)
    .execute()
  const whole = rows.findIndex(({ options }) => !isNarrowed(options))
  return whole === -1 ? rows : rows.slice(0, whole + 1)
}

/**
 * The newest run of the account that has ended and was about all of it, or null. What an operator narrowed or broke off says nothing of the
 * rest.
 */
export async function lastEndedRun(q: Query, account: string): Promise<RunRow | null> {
  return (await endedRuns(q, account)).findLast(({ options }) => !isNarrowed(options)) ?? null
}

/** Whether a run looked at some submissions only. */
export function isNarrowed({ submissions, since, active_only }: RunOptions): boolean {
  return submissions !== undefined || since !== undefined || active_only === true
}

/** Which findings are meant: those of one run, in the order in which they were found. */
export interface FindingFilter {
  readonly runId: string
  readonly kind?: FindingKind | undefined
  readonly standing?: boolean | undefined
  readonly submissionId?: string | undefined
  /** Only those with a greater number: the next page. */
  readonly after?: number | undefined
  /** 1,000 when left out. */
  readonly limit?: number | undefined
}

/** Findings of a run, a page of them. */
export async function listFindings(q: Query, filter: FindingFilter): Promise<FindingRow[]> {
  let query = q.sql.selectFrom('reconcile_findings').selectAll().where('run_id', '=', filter.runId)
  if (filter.kind !== undefined) query = query.where('kind', '=', filter.kind)
  if (filter.standing !== undefined) query = query.where('standing', '=', filter.standing)
  if (filter.submissionId !== undefined) query = query.where('submission_id', '=', filter.submissionId)
  if (filter.after !== undefined) query = query.where('finding_no', '>', filter.after)
  return query
    .orderBy('finding_no')
    .limit(filter.limit ?? 1_000)
    .execute()
}

/** A run that somebody wants. */
export interface RunRequest {
  readonly account: string
  readonly options: RunOptions
  /** `command`, `cron`, `admin:<name of the token>`. */
  readonly requestedBy: string
  /** The time of the timetable that asks for it. */
  readonly slot?: TimeText
}

/**
 * Stores a run for a working process to take up; it begins as soon as no other run of the account is in progress.
 * @returns its id, or that of one that waits already and was asked for with the same options.
 */
export async function requestRun(db: Db, request: RunRequest): Promise<string> {
  return db.write('reconcile-request', async (tx) => {
    const waiting = await tx.sql
      .selectFrom('reconcile_runs')
      .select(['run_id', 'options'])
      .where('account', '=', request.account)
      .where('state', '=', 'requested')
      .limit(100)
      .execute()
    const same = waiting.find((row) => sameOptions(row.options, request.options))
    if (same) return same.run_id
    const row = newRun(tx, request, 'requested')
    await insertRun(tx, row)
    return row.run_id
  })
}

/** Whether two runs were asked to do the same. How many reads at once makes no difference. */
export function sameOptions(a: RunOptions, b: RunOptions): boolean {
  const about = ({ concurrency: _, ...rest }: RunOptions): Json => rest as Json
  return canonicalJson(about(a)) === canonicalJson(about(b))
}

/**
 * A condition of SQL on rows of `reconcile_findings`: another run has told of it, and not as new in a dry run, which only looks. What a dry
 * run says is known was told by one that was not dry, whose findings may be removed by now.
 * @param findings the name by which the statement knows the table.
 */
export function reportedBefore(q: Pick<Query, 'kind'>, runId: string, findings = 'reconcile_findings'): RawBuilder<boolean> {
  const of = (column: string) => sql.ref(`${findings}.${column}`)
  const isDry = q.kind === 'sqlite' ? sql`json_extract(told.options, '$.dry_run')` : sql`(told.options ->> 'dry_run')::boolean`
  return sql<boolean>`(${of('run_id')} <> ${runId} and (${of('standing')}
    or not exists (select 1 from reconcile_runs told where told.run_id = ${of('run_id')} and ${isDry})))`
}

/** Whether an earlier run has told that the service can have no submission of that id. */
export async function isMisnamedReported(q: Query, account: string, submissionId: string, runId: string): Promise<boolean> {
  const row = await q.sql
    .selectFrom('reconcile_findings')
    .select('run_id')
    .where('account', '=', account)
    .where('submission_id', '=', submissionId)
    .where('kind', '=', 'absent')
    .where('entity', '=', 'submissions')
    .where(reportedBefore(q, runId))
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** A condition of SQL: the run was asked for with none but these options, or with none at all. */
export function hasNoOptionsBut(
  q: Pick<Query, 'kind'>,
  column: string,
  names: readonly [keyof RunOptions, ...(keyof RunOptions)[]],
): RawBuilder<boolean> {
  const others =
    q.kind === 'sqlite'
      ? sql`json_remove(${sql.ref(column)}, ${sql.join(names.map((name) => sql.lit(`$.${name}`)))})`
      : sql`${sql.ref(column)} - array[${sql.join(names.map((name) => sql.lit(name)))}]`
  return sql<boolean>`${others} = '{}'`
}

const runsTable: TableSpec = {
  table: 'reconcile_runs',
  key: ['run_id'],
  columns: {
    run_id: 'text',
    account: 'text',
    slot: 'time',
    requested_by: 'text',
    options: 'json',
    state: 'text',
    requested_at: 'time',
    started_at: 'time',
    updated_at: 'time',
    ended_at: 'time',
    submissions_total: 'int',
    submissions_done: 'int',
    rows_compared: 'int',
    missing: 'int',
    different: 'int',
    absent: 'int',
    unreadable: 'int',
    undelivered: 'int',
    lost: 'int',
    repaired: 'int',
    known: 'int',
    exit_code: 'int',
    note: 'text',
  },
}

/** A new run's row, with nothing done yet. */
export function newRun(tx: Tx, request: RunRequest, state: RunState): RunRow {
  const now = timeFromMs(tx.clock.now())
  return {
    run_id: randomUUID(),
    account: request.account,
    slot: request.slot ?? null,
    requested_by: request.requestedBy,
    options: request.options,
    state,
    requested_at: now,
    started_at: null,
    updated_at: now,
    ended_at: null,
    submissions_total: 0,
    submissions_done: 0,
    rows_compared: 0,
    missing: 0,
    different: 0,
    absent: 0,
    unreadable: 0,
    undelivered: 0,
    lost: 0,
    repaired: 0,
    known: 0,
    exit_code: null,
    note: null,
  }
}

/** @returns false when the account has a run of that slot already. */
export async function insertRun(tx: Tx, row: RunRow): Promise<boolean> {
  return (await tx.insertMany(runsTable, [row as unknown as Record<string, Json>], { ignore: true })) > 0
}
