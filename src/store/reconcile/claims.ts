import { sql } from 'kysely'
import { storableText } from '../../model/json.ts'
import { type TimeText, timeFromMs } from '../../model/time.ts'
import type { Db, Tx } from '../engine/db.ts'
import { Leased, newLeaseToken } from '../engine/leased.ts'
import { dbTime, rowLock } from '../engine/sql.ts'
import type { RunState } from '../schema/reconcile.ts'
import { insertRun, NOTHING_DONE, newRun, type RunRequest, type RunRow, sameOptions } from './runs.ts'

export const RUN_LEASE_MS = 20_000
/** Maximum number of runs to read for one account and state. */
const MOST_OPEN = 100
/** Exit code of a run that was stopped before its end. */
const STOPPED_EXIT_CODE = 4

export interface RunClaim {
  readonly account: string
  readonly run: RunRow
  readonly leaseToken: string
  /** True if the run was interrupted earlier, and this claim resumes it. */
  readonly resumed: boolean
}

export const claimedRuns = new Leased<Pick<RunClaim, 'account' | 'leaseToken'>>({
  table: 'sync_reconcile',
  what: 'reconcile run of account',
  key: { account: 'account' },
  due: 'lease_until',
})

/** Returned if another run of the account is in progress. */
export interface RunBusy {
  readonly busy: true
  readonly runId: string
  readonly leaseUntil: TimeText
}

/** Creates the missing rows of accounts. An account's reconcile schedule starts when its row is created. */
export async function ensureReconcileRows(db: Db, accounts: readonly string[]): Promise<void> {
  await db.write('reconcile-accounts', async (tx) => {
    for (const account of [...accounts].sort()) await ensureRow(tx, account)
  })
}

async function ensureRow(tx: Tx, account: string): Promise<void> {
  await tx.run(sql`insert into sync_reconcile (account, since) values (${account}, ${dbTime(tx)}) on conflict do nothing`)
}

/**
 * Requests a run. The run starts when no other run of the account is in progress.
 * @returns the run's id. If a run with the same options is already waiting, requests none and returns the id
 * of that run.
 */
export async function requestRun(db: Db, request: RunRequest): Promise<string> {
  return db.write('reconcile-request', async (tx) => {
    await ensureRow(tx, request.account)
    await lockAccount(tx, request.account)
    const waiting = await runsIn(tx, request.account, 'requested', MOST_OPEN)
    const same = waiting.find((row) => sameOptions(row.options, request.options))
    if (same) return same.run_id
    const row = newRun(tx, request, 'requested')
    await insertRun(tx, row)
    return row.run_id
  })
}

/**
 * Starts a run now. If an interrupted run has the same options, resumes that run instead. All other waiting and
 * interrupted runs keep waiting.
 * @returns `RunBusy` if a run of the account is in progress.
 */
export async function claimNewRun(db: Db, request: RunRequest): Promise<RunClaim | RunBusy> {
  await ensureReconcileRows(db, [request.account])
  return db.write('reconcile-claim', async (tx) => {
    const lease = await takeLease(tx, newLeaseToken(db), request.account)
    if ('busy' in lease) return lease
    const interrupted = (await interruptedRuns(tx, request.account)).find(({ options }) => sameOptions(options, request.options))
    if (interrupted) return begin(tx, interrupted, lease.token, true)
    const run = newRun(tx, request, 'requested')
    await insertRun(tx, run)
    return begin(tx, run, lease.token, false)
  })
}

/**
 * Claims the account's oldest interrupted run. If no run is interrupted, claims the oldest requested run.
 * @returns null if there is no such run, or if a run of the account is in progress.
 */
export async function claimWaitingRun(db: Db, account: string): Promise<RunClaim | null> {
  const open = sql`select 1 from reconcile_runs where account = ${account} and state in ('requested', 'running') limit 1`
  if (!(await db.read.exists(open))) return null
  return db.write('reconcile-claim', async (tx) => {
    const lease = await takeLease(tx, newLeaseToken(db), account)
    if ('busy' in lease) return null
    const [interrupted] = await interruptedRuns(tx, account)
    const run = interrupted ?? (await runsIn(tx, account, 'requested', 1))[0]
    if (run) return begin(tx, run, lease.token, interrupted !== undefined)
    await releaseAccount(tx, { account, leaseToken: lease.token })
    return null
  })
}

/**
 * Ends the waiting and interrupted runs of accounts that are no longer configured.
 * @param accounts the configured accounts.
 */
export async function endAbandonedRuns(db: Db, accounts: readonly string[]): Promise<void> {
  const open = db.read.sql.selectFrom('reconcile_runs').select('account').distinct().where('state', 'in', ['requested', 'running'])
  const abandoned = (await open.execute()).map(({ account }) => account).filter((account) => !accounts.includes(account))
  if (abandoned.length === 0) return
  await ensureReconcileRows(db, abandoned)
  for (const account of abandoned) {
    await db.write('reconcile-end', async (tx) => {
      const lease = await takeLease(tx, newLeaseToken(db), account)
      if ('busy' in lease) return
      const now = timeFromMs(tx.clock.now())
      const note = `account ${account} is no longer configured`
      await tx.run(sql`
        update reconcile_runs set state = 'stopped', exit_code = ${STOPPED_EXIT_CODE}, note = ${note}, updated_at = ${now},
        ended_at = ${now} where account = ${account} and state in ('requested', 'running')`)
      await releaseAccount(tx, { account, leaseToken: lease.token })
    })
  }
}

/**
 * Locks the account's row until the transaction ends. Call this before requesting, starting, or stopping a run.
 * @returns the time when the account's schedule started; null if the account has no row.
 */
export async function lockAccount(tx: Tx, account: string): Promise<TimeText | null> {
  const row = tx.sql.selectFrom('sync_reconcile').select('since').where('account', '=', account)
  return (await row.modifyEnd(rowLock(tx, 'for update')).executeTakeFirst())?.since ?? null
}

async function takeLease(tx: Tx, token: string, account: string): Promise<{ token: string } | RunBusy> {
  await lockAccount(tx, account)
  const taken = await claimedRuns.claimOne(tx, token, { account }, { leaseMs: RUN_LEASE_MS })
  if (taken !== null) return { token }
  const held = await tx.sql
    .selectFrom('sync_reconcile')
    .select(['run_id', 'lease_until'])
    .where('account', '=', account)
    .executeTakeFirstOrThrow()
  return { busy: true, runId: held.run_id ?? '', leaseUntil: held.lease_until ?? '' }
}

/**
 * Lists the account's runs in the state `running`. Call this only while holding the account's lease. Then no other
 * process performs these runs, so they were interrupted.
 */
function interruptedRuns(tx: Tx, account: string): Promise<RunRow[]> {
  return runsIn(tx, account, 'running', MOST_OPEN)
}

/** Lists the runs in one state, the first requested first. */
async function runsIn(tx: Tx, account: string, state: RunState, limit: number): Promise<RunRow[]> {
  const query = tx.sql.selectFrom('reconcile_runs').selectAll().where('account', '=', account).where('state', '=', state)
  return await query.orderBy('requested_at').orderBy('run_id').limit(limit).execute()
}

async function begin(tx: Tx, run: RunRow, leaseToken: string, resumed: boolean): Promise<RunClaim> {
  const updated_at = timeFromMs(tx.clock.now())
  // A dry run stores no progress, so it begins again from the start; see `deleteFindings`.
  const counts = resumed && run.options.dry_run === true ? NOTHING_DONE : {}
  // Use the database's clock, because a resumed run compares `started_at` with times that other processes stored.
  const { started_at } = await tx.sql
    .updateTable('reconcile_runs')
    .set({ state: 'running', updated_at, ...counts, ...(run.started_at === null && { started_at: dbTime(tx) }) })
    .where('run_id', '=', run.run_id)
    .returning('started_at')
    .executeTakeFirstOrThrow()
  const begun: RunRow = { ...run, ...counts, state: 'running', started_at, updated_at }
  await tx.sql.updateTable('sync_reconcile').set({ run_id: run.run_id }).where('account', '=', run.account).execute()
  return { account: run.account, run: begun, leaseToken, resumed }
}

/**
 * Renews the lease of a run.
 * @throws LeaseLostError if this process lost the lease.
 */
export async function renewLease(tx: Tx, claim: RunClaim): Promise<void> {
  await claimedRuns.renew(tx, claim, RUN_LEASE_MS)
}

/**
 * Checks that this process still has the run's lease, and locks the lease. Call this in each transaction that corrects
 * rows or stores findings.
 * @throws LeaseLostError if this process lost the lease.
 */
export async function lockRun(tx: Tx, claim: RunClaim): Promise<void> {
  await claimedRuns.hold(tx, claim)
}

export interface RunEnd {
  readonly state: Exclude<RunState, 'requested' | 'running'>
  readonly exitCode: number
  readonly note: string | null
}

/**
 * Ends a run and its lease.
 * @throws LeaseLostError if this process lost the lease.
 */
export async function endRun(db: Db, claim: RunClaim, end: RunEnd): Promise<void> {
  await db.write('reconcile-end', async (tx) => {
    await claimedRuns.settle(tx, claim, sql`run_id = null, lease_until = ${dbTime(tx)}`)
    await endRow(tx, claim.run.run_id, end.state, end.exitCode, end.note)
  })
}

/**
 * Stops a run at a person's request. The process that performs the run loses the lease. Findings and corrections stay.
 * @returns false if the run had already ended.
 */
export async function stopRun(db: Db, { account, run_id }: Pick<RunRow, 'account' | 'run_id'>, note: string): Promise<boolean> {
  return db.write('reconcile-stop', async (tx) => {
    await lockAccount(tx, account)
    await tx.run(sql`
      update sync_reconcile set run_id = null, lease_token = null, lease_until = null where account = ${account} and run_id = ${run_id}`)
    const isOpen = await tx.exists(sql`select 1 from reconcile_runs where run_id = ${run_id} and state in ('requested', 'running')`)
    if (isOpen) await endRow(tx, run_id, 'stopped', STOPPED_EXIT_CODE, note)
    return isOpen
  })
}

/** Ends the lease of a run without ending the run. Another process can then resume the run. */
export async function releaseRun(db: Db, claim: RunClaim): Promise<void> {
  await db.write('reconcile-release', (tx) => releaseAccount(tx, claim))
}

async function endRow(tx: Tx, runId: string, state: RunState, exitCode: number, note: string | null): Promise<void> {
  const now = timeFromMs(tx.clock.now())
  await tx.run(sql`
    update reconcile_runs set state = ${state}, exit_code = ${exitCode}, note = ${note === null ? null : storableText(note)},
    updated_at = ${now}, ended_at = ${now} where run_id = ${runId}`)
}

async function releaseAccount(tx: Tx, claim: Pick<RunClaim, 'account' | 'leaseToken'>): Promise<void> {
  await claimedRuns.release(tx, claim, 0, sql`run_id = null`)
}
