import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { type Json, storableText } from '../../model/json.ts'
import type { StateRead } from '../../model/reads.ts'
import { type TimeText, timeFromMs } from '../../model/time.ts'
import type { Db, Query, TableSpec, Tx } from '../engine/db.ts'
import { LeaseLostError } from '../engine/leases.ts'
import { dbTime, valuesTable } from '../engine/sql.ts'
import { addReads, nextReadNumber } from '../reads/reads.ts'
import { type FindingKind, findingKinds, type ReconcileFindingsTable, type RunState } from '../schema/tables-reconcile.ts'
import { insertRun, newRun, type RunRequest, type RunRow, sameOptions } from './runs.ts'

/** A run is ours for so long after each sign of life. */
export const RUN_LEASE_MS = 20_000
/** So many interrupted runs of an account are looked at. */
const MOST_OPEN = 100
/** Findings that are removed in one transaction: on SQLite it stays short (invariant 13). */
const FORGOTTEN = 1_000

/** A run that this process may work on until its lease ends. */
export interface RunClaim {
  readonly run: RunRow
  readonly leaseToken: string
  /** It was begun before, by a process that died. */
  readonly resumed: boolean
}

/** Another run of the account is in progress: until when it holds the account at least, if it says nothing more. */
export interface RunBusy {
  readonly busy: true
  readonly runId: string
  readonly leaseUntil: TimeText
}

/** Makes sure that accounts can be reconciled; from then on their timetable holds. */
export async function ensureReconcileRows(db: Db, accounts: readonly string[]): Promise<void> {
  await db.write('reconcile-accounts', async (tx) => {
    for (const account of [...accounts].sort()) {
      await tx.sql
        .insertInto('sync_reconcile')
        .values({ account, run_id: null, lease_token: null, lease_until: null, since: dbTime(tx) })
        .onConflict((oc) => oc.column('account').doNothing())
        .execute()
    }
  })
}

/**
 * Begins a run now, unless one of the account is in progress. One that was interrupted is gone on with when it was asked for with the
 * same options; else it waits until the new one is over.
 */
export async function claimNewRun(db: Db, request: RunRequest): Promise<RunClaim | RunBusy> {
  await ensureReconcileRows(db, [request.account])
  return db.write('reconcile-claim', async (tx) => {
    const lease = await takeLease(tx, request.account)
    if ('busy' in lease) return lease
    const interrupted = (await interruptedRuns(tx, request.account)).find(({ options }) => sameOptions(options, request.options))
    if (interrupted) return begin(tx, interrupted, lease.token, true)
    const run = newRun(tx, request, 'requested')
    await insertRun(tx, run)
    return begin(tx, run, lease.token, false)
  })
}

/** Takes up what waits for a process in an account: a run that was interrupted, else the oldest that was asked for. Null for none. */
export async function claimWaitingRun(db: Db, account: string): Promise<RunClaim | null> {
  const waits = await db.read.sql
    .selectFrom('reconcile_runs')
    .select('run_id')
    .where('account', '=', account)
    .where('state', 'in', ['requested', 'running'])
    .limit(1)
    .executeTakeFirst()
  if (!waits) return null
  return db.write('reconcile-claim', async (tx) => {
    const lease = await takeLease(tx, account)
    if ('busy' in lease) return null
    const [interrupted] = await interruptedRuns(tx, account)
    const run = interrupted ?? (await firstRequested(tx, account))
    if (run) return begin(tx, run, lease.token, interrupted !== undefined)
    await releaseLease(tx, account, lease.token)
    return null
  })
}

/**
 * Ends the runs that wait, or were interrupted, of accounts that are not served any more: nobody would ever take them up.
 * @param accounts those that are served.
 */
export async function endAbandonedRuns(db: Db, accounts: readonly string[]): Promise<void> {
  const open = db.read.sql.selectFrom('reconcile_runs').select('account').distinct().where('state', 'in', ['requested', 'running'])
  const abandoned = (await open.execute()).map(({ account }) => account).filter((account) => !accounts.includes(account))
  if (abandoned.length === 0) return
  await ensureReconcileRows(db, abandoned)
  for (const account of abandoned) {
    await db.write('reconcile-end', async (tx) => {
      const lease = await takeLease(tx, account)
      if ('busy' in lease) return
      const now = timeFromMs(tx.clock.now())
      const note = `account ${account} is not in the settings any more`
      await tx.sql
        .updateTable('reconcile_runs')
        .set({ state: 'stopped', exit_code: 4, note, updated_at: now, ended_at: now })
        .where('account', '=', account)
        .where('state', 'in', ['requested', 'running'])
        .execute()
      await releaseLease(tx, account, lease.token)
    })
  }
}

async function takeLease(tx: Tx, account: string): Promise<{ token: string } | RunBusy> {
  const token = randomUUID()
  const result = await sql`
    update sync_reconcile set lease_token = ${token}, lease_until = ${dbTime(tx, RUN_LEASE_MS)}
    where account = ${account} and (lease_token is null or lease_until <= ${dbTime(tx)})`.execute(tx.sql)
  if (result.numAffectedRows === 1n) return { token }
  const held = await tx.sql
    .selectFrom('sync_reconcile')
    .select(['run_id', 'lease_until'])
    .where('account', '=', account)
    .executeTakeFirstOrThrow()
  return { busy: true, runId: held.run_id ?? '', leaseUntil: held.lease_until ?? '' }
}

/** Those in progress of an account that nobody else holds. */
async function interruptedRuns(tx: Tx, account: string): Promise<RunRow[]> {
  const query = tx.sql.selectFrom('reconcile_runs').selectAll().where('account', '=', account).where('state', '=', 'running')
  return await query.orderBy('requested_at').limit(MOST_OPEN).execute()
}

async function firstRequested(tx: Tx, account: string): Promise<RunRow | null> {
  const query = tx.sql.selectFrom('reconcile_runs').selectAll().where('account', '=', account).where('state', '=', 'requested')
  return (await query.orderBy('requested_at').orderBy('run_id').limit(1).executeTakeFirst()) ?? null
}

async function begin(tx: Tx, run: RunRow, leaseToken: string, resumed: boolean): Promise<RunClaim> {
  const updated_at = timeFromMs(tx.clock.now())
  // Nothing tells where a dry run was (see `deleteFindings`).
  const counts = resumed && run.options.dry_run === true ? NOTHING_DONE : {}
  // Whoever goes on with the run compares it with the visits, which other processes noted.
  const { started_at } = await tx.sql
    .updateTable('reconcile_runs')
    .set({ state: 'running', updated_at, ...counts, ...(run.started_at === null && { started_at: dbTime(tx) }) })
    .where('run_id', '=', run.run_id)
    .returning('started_at')
    .executeTakeFirstOrThrow()
  const begun: RunRow = { ...run, ...counts, state: 'running', started_at, updated_at }
  await tx.sql.updateTable('sync_reconcile').set({ run_id: run.run_id }).where('account', '=', run.account).execute()
  return { run: begun, leaseToken, resumed }
}

/** What a run has come to. */
export type RunCounts = Pick<RunRow, 'submissions_total' | 'submissions_done' | 'rows_compared' | 'repaired' | 'known' | FindingKind>

const NOTHING_DONE = Object.fromEntries(
  ['submissions_total', 'submissions_done', 'rows_compared', 'repaired', 'known', ...findingKinds].map((name) => [name, 0]),
) as unknown as RunCounts

/** A submission that a run has looked at. */
export interface Visited {
  readonly submissionId: string
  /** When its reading began. */
  readonly at: TimeText
  /** It was found, or made, equal to what the service shows. */
  readonly proved: boolean
}

/**
 * Keeps how far a run has come, and the lease.
 * @throws LeaseLostError when another process has the run now.
 */
export async function saveProgress(db: Db, claim: RunClaim, counts: RunCounts, visited: readonly Visited[]): Promise<void> {
  const { account, run_id } = claim.run
  await db.write('reconcile-progress', async (tx) => {
    await keepLease(tx, claim)
    await tx.sql
      .updateTable('reconcile_runs')
      .set({ ...counts, updated_at: timeFromMs(tx.clock.now()) })
      .where('run_id', '=', run_id)
      .execute()
    if (visited.length === 0) return
    const rows = visited.map(({ submissionId, at, proved }) => ({ submission_id: submissionId, at, proved: proved ? 1 : 0 }))
    const given = valuesTable(tx, { submission_id: 'text', at: 'text', proved: 'int' }, rows)
    // By the database's clock (invariant 14): a later run, of another process, is compared with it.
    const ahead = sql`(${timeFromMs(tx.clock.now())}::timestamptz - statement_timestamp())`
    const at = tx.kind === 'sqlite' ? sql`given.at` : sql`(given.at::timestamptz - ${ahead})`
    await sql`
      insert into sync_proofs (account, submission_id, run_id, visited_at, proved_at)
      select ${account}, given.submission_id, ${run_id}, ${at}, case when given.proved = 1 then ${at} end from ${given} where true
      on conflict (account, submission_id) do update set visited_at = excluded.visited_at,
        run_id = case when excluded.proved_at is null and sync_proofs.proved_at is not null then sync_proofs.run_id else excluded.run_id end,
        proved_at = coalesce(excluded.proved_at, sync_proofs.proved_at)`.execute(tx.sql)
  })
}

async function keepLease(tx: Tx, claim: RunClaim): Promise<void> {
  const until = dbTime(tx, RUN_LEASE_MS)
  const held = sql`account = ${claim.run.account} and lease_token = ${claim.leaseToken}`
  const result = await sql`update sync_reconcile set lease_until = ${until} where ${held}`.execute(tx.sql)
  if (result.numAffectedRows !== 1n) throw lost(claim)
}

/**
 * Makes sure, in a transaction that repairs or reports, that the run is still ours; who takes it over waits until that is committed.
 * @throws LeaseLostError when another process has it now.
 */
export async function lockRun(tx: Tx, claim: RunClaim): Promise<void> {
  const share = tx.kind === 'sqlite' ? sql`` : sql`for share`
  const { rows } = await sql`
    select run_id from sync_reconcile where account = ${claim.run.account} and lease_token = ${claim.leaseToken} ${share}`.execute(tx.sql)
  if (rows.length !== 1) throw lost(claim)
}

const findingsTable: TableSpec = {
  table: 'reconcile_findings',
  key: ['run_id', 'finding_no'],
  columns: {
    run_id: 'text',
    finding_no: 'int',
    account: 'text',
    submission_id: 'text',
    kind: 'text',
    entity: 'text',
    entity_id: 'text',
    fields: 'json',
    read: 'text',
    destination: 'text',
    seq: 'int',
    standing: 'bool',
    repaired_at: 'time',
    detail: 'text',
    found_at: 'time',
  },
}

/** Keeps findings of a run, each once, however often they are met. @returns those counts that this raises, by how much. */
export async function insertFindings(tx: Tx, findings: readonly ReconcileFindingsTable[]): Promise<Partial<RunCounts>> {
  const counts: { -readonly [name in keyof RunCounts]?: number } = {}
  const groups = Map.groupBy(findings, ({ kind, standing, repaired_at }) => `${kind} ${standing} ${repaired_at !== null}`)
  for (const [, group] of [...groups].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const [first] = group
    if (!first) continue
    const rows = group.map((row) => ({ ...row, detail: storableText(row.detail) }))
    const inserted = await tx.insertMany(findingsTable, rows as unknown as Record<string, Json>[], { ignore: true })
    const name = first.standing ? 'known' : first.kind
    counts[name] = (counts[name] ?? 0) + inserted
    if (first.repaired_at !== null && !first.standing) counts.repaired = (counts.repaired ?? 0) + inserted
  }
  return counts
}

/** The counts and the last number of the findings that a run has so far. */
export async function sumFindings(q: Query, runId: string): Promise<{ counts: Partial<RunCounts>; lastNo: number }> {
  const { rows } = await sql<{ kind: FindingKind; standing: number | boolean; n: number; repaired: number; last: number }>`
    select kind, standing, count(*) as n, count(repaired_at) as repaired, max(finding_no) as last
    from reconcile_findings where run_id = ${runId} group by kind, standing`.execute(q.sql)
  const counts = Object.fromEntries([...findingKinds, 'known', 'repaired'].map((name) => [name, 0])) as Record<string, number>
  let lastNo = 0
  for (const row of rows) {
    lastNo = Math.max(lastNo, Number(row.last))
    if (row.standing) counts['known'] = (counts['known'] ?? 0) + Number(row.n)
    else {
      counts[row.kind] = Number(row.n)
      counts['repaired'] = (counts['repaired'] ?? 0) + Number(row.repaired)
    }
  }
  return { counts, lastNo }
}

/**
 * Removes what a run has found so far. A dry run leaves no mark at the submissions that it has looked at: whoever takes it up again looks
 * at all of them, and would report everything twice.
 * @throws LeaseLostError when another process has the run now.
 */
export async function deleteFindings(db: Db, claim: RunClaim): Promise<void> {
  const found = sql`select finding_no from reconcile_findings where run_id = ${claim.run.run_id} limit ${sql.lit(FORGOTTEN)}`
  for (let removed = FORGOTTEN; removed === FORGOTTEN; ) {
    removed = await db.write('reconcile-findings', async (tx) => {
      await keepLease(tx, claim)
      const result = await sql`
        delete from reconcile_findings where run_id = ${claim.run.run_id} and finding_no in (${found})`.execute(tx.sql)
      return Number(result.numAffectedRows ?? 0n)
    })
  }
}

/** How a run ends. */
export interface RunEnd {
  readonly state: Exclude<RunState, 'requested' | 'running'>
  readonly exitCode: number
  readonly note: string | null
}

/** Ends a run and gives the account free. @throws LeaseLostError when another process has it now. */
export async function endRun(db: Db, claim: RunClaim, end: RunEnd): Promise<void> {
  await db.write('reconcile-end', async (tx) => {
    await lockRun(tx, claim)
    await endRow(tx, claim.run.run_id, end.state, end.exitCode, end.note)
    await releaseLease(tx, claim.run.account, claim.leaseToken)
  })
}

/** Gives a run back as it is, for another process to go on with at once. */
export async function releaseRun(db: Db, claim: RunClaim): Promise<void> {
  await db.write('reconcile-release', (tx) => releaseLease(tx, claim.run.account, claim.leaseToken))
}

/** A number for a state read (invariant 6); null when the submission is not polled. */
export async function takeReadNumber(db: Db, account: string, submissionId: string, read: StateRead): Promise<number | null> {
  return db.write('reconcile-number', async (tx) => {
    const row = await tx.sql
      .updateTable('sync_reads')
      .set({ issued_no: nextReadNumber(tx) })
      .where('account', '=', account)
      .where('submission_id', '=', submissionId)
      .where('read', '=', read)
      .returning('issued_no')
      .executeTakeFirst()
    return row?.issued_no ?? null
  })
}

async function endRow(tx: Tx, runId: string, state: RunState, exitCode: number, note: string | null): Promise<void> {
  const now = timeFromMs(tx.clock.now())
  await tx.sql
    .updateTable('reconcile_runs')
    .set({ state, exit_code: exitCode, note: note === null ? null : storableText(note), updated_at: now, ended_at: now })
    .where('run_id', '=', runId)
    .execute()
}

async function releaseLease(tx: Tx, account: string, token: string): Promise<void> {
  await tx.sql
    .updateTable('sync_reconcile')
    .set({ run_id: null, lease_token: null, lease_until: null })
    .where('account', '=', account)
    .where('lease_token', '=', token)
    .execute()
}

function lost(claim: RunClaim): LeaseLostError {
  return new LeaseLostError(`reconcile run ${claim.run.run_id} of account ${claim.run.account}`)
}

/** Gives a submission back the reads that it lost, so that it is polled again. */
export async function restoreReads(db: Db, account: string, submissionId: string): Promise<void> {
  await db.write('reconcile-reads', (tx) => addReads(tx, [{ account, submissionId }], timeFromMs(tx.clock.now()), false))
}
