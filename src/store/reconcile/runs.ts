import { randomUUID } from 'node:crypto'
import { type RawBuilder, sql } from 'kysely'
import { canonicalJson, type Json } from '../../model/json.ts'
import { type TimeText, timeFromMs } from '../../model/time.ts'
import type { Query, Tx } from '../engine/db.ts'
import { idsLike, timeValue } from '../engine/sql.ts'
import {
  type FindingKind,
  findingKinds,
  type ReconcileRunsTable,
  type RunOptions,
  type RunState,
  reconcileRuns,
} from '../schema/reconcile.ts'
import { specOf } from '../schema/table.ts'

export type RunRow = ReconcileRunsTable

/** Maximum number of the newest runs to search for a run of the whole account. */
const NEWEST_RUNS = 100

export interface RunFilter {
  readonly account?: string | undefined
  readonly state?: RunState | undefined
  readonly since?: TimeText | undefined
  readonly after?: { readonly requestedAt: TimeText; readonly runId: string } | undefined
  /** Maximum number of runs; 100 if undefined. */
  readonly limit?: number | undefined
}

/** Lists runs, newest first. */
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

/**
 * Finds up to `limit` ids of runs that match a shortened id.
 * @param shortened the beginning of an id, or `beginning…end`.
 */
export async function runIdsLike(q: Query, shortened: string, limit: number): Promise<string[]> {
  return await idsLike(q, 'reconcile_runs', 'run_id', shortened.toLowerCase(), { limit })
}

export async function findRun(q: Query, runId: string): Promise<RunRow | null> {
  return (await q.sql.selectFrom('reconcile_runs').selectAll().where('run_id', '=', runId.toLowerCase()).executeTakeFirst()) ?? null
}

/**
 * Lists the account's ended runs, the newest first, without stopped runs. The list ends with the newest run that
 * covered the whole account, or after 100 runs.
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

/** @returns the newest ended run that covered the whole account; null if there is none among the newest 100. */
export async function lastEndedRun(q: Query, account: string): Promise<RunRow | null> {
  return (await endedRuns(q, account)).findLast(({ options }) => !isNarrowed(options)) ?? null
}

/** @returns whether a run with these options covers only some submissions. */
export function isNarrowed({ submissions, since, active_only }: RunOptions): boolean {
  return submissions !== undefined || since !== undefined || active_only === true
}

export interface RunRequest {
  readonly account: string
  readonly options: RunOptions
  /** `command`, `cron`, or `admin:<token name>`. */
  readonly requestedBy: string
  /** Scheduled time of a scheduled run; undefined for other runs. */
  readonly slot?: TimeText
}

/** @returns whether runs with these options do the same work. The option `concurrency` doesn't matter. */
export function sameOptions(a: RunOptions, b: RunOptions): boolean {
  const about = ({ concurrency: _, ...rest }: RunOptions): Json => rest as Json
  return canonicalJson(about(a)) === canonicalJson(about(b))
}

/** Condition: the run has no options other than `names`. */
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

const runsTable = specOf(reconcileRuns)

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
    moved: 0,
    repaired: 0,
    known: 0,
    exit_code: null,
    note: null,
  }
}

/**
 * Inserts a run.
 * @returns false if the account already has a run for its scheduled time.
 */
export async function insertRun(tx: Tx, row: RunRow): Promise<boolean> {
  return (await tx.insertMany(runsTable, [row as unknown as Record<string, Json>], { ignore: true })) > 0
}

export type RunCounts = Pick<RunRow, 'submissions_total' | 'submissions_done' | 'rows_compared' | 'repaired' | 'known' | FindingKind>

/** Counts of a run that begins again from the start: all 0. */
export const NOTHING_DONE = Object.fromEntries(
  ['submissions_total', 'submissions_done', 'rows_compared', 'repaired', 'known', ...findingKinds].map((name) => [name, 0]),
) as unknown as RunCounts
