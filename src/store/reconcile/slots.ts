import { sql } from 'kysely'
import { msFromTime, type TimeText, timeFromMs } from '../../model/time.ts'
import type { Db, Query, Tx } from '../engine/db.ts'
import { timeValue } from '../engine/sql.ts'
import { findAccount } from '../reads/accounts.ts'
import type { Columns } from '../schema/tables.ts'
import { lockAccount, RUN_LEASE_MS } from './claims.ts'
import { insertRun, newRun, type RunRow, sameOptions } from './runs.ts'

/**
 * What `requestSlot` did for a scheduled time:
 * - `requested`: requested the run
 * - `again`: requested another run, because the run failed
 * - `taken`: nothing, because the time already has a run
 * - `before`: nothing, because the account's schedule started after this time
 * - `skipped`: stored the time as skipped, because another run does the same work
 */
export type SlotOutcome = 'requested' | 'again' | 'taken' | 'before' | 'skipped'

/** A failed run is repeated after this many ms, at most `AGAIN_TIMES` times. */
const AGAIN_AFTER_MS = 15 * 60_000
const AGAIN_TIMES = 4

const OPTIONS = {}

/**
 * Requests the run of a scheduled time. If another run without options is waiting, or was in progress at the scheduled
 * time, stores the time as skipped. Interrupted runs and runs with options don't count; the new run waits for them. The
 * option `concurrency` doesn't matter.
 */
export async function requestSlot(db: Db, account: string, slot: TimeText): Promise<SlotOutcome> {
  const known = await runsOf(db.read, account, slot)
  if (known.length > 0 && !(isDueAgain(known, db.clock.now()) && (await findAccount(db.read, account))?.state === 'active')) return 'taken'
  return db.write('reconcile-slot', async (tx) => {
    const since = await lockAccount(tx, account)
    if (since === null || since > slot) return 'before'
    const runs = await runsOf(tx, account, slot)
    if (runs.length > 0 && !isDueAgain(runs, tx.clock.now())) return 'taken'
    const open = await openLikeIt(tx, account, slot)
    const request = { account, options: OPTIONS, requestedBy: 'cron' }
    if (runs.length > 0) {
      if (open !== null) return 'taken'
      await insertRun(tx, newRun(tx, request, 'requested'))
      return 'again'
    }
    if (open === null) return (await insertRun(tx, newRun(tx, { ...request, slot }, 'requested'))) ? 'requested' : 'taken'
    const now = timeFromMs(tx.clock.now())
    const note = `run ${open} was still in progress at that time`
    return (await insertRun(tx, { ...newRun(tx, { ...request, slot }, 'stopped'), ended_at: now, exit_code: 4, note }))
      ? 'skipped'
      : 'taken'
  })
}

type SlotRun = Pick<RunRow, 'state' | 'ended_at'>

/** Lists the first run of a scheduled time and its repetitions after failures. */
async function runsOf(q: Query, account: string, slot: TimeText): Promise<SlotRun[]> {
  const runs = q.sql.selectFrom('reconcile_runs').where('account', '=', account)
  const first = await runs.select(['state', 'ended_at', 'requested_at']).where('slot', '=', slot).executeTakeFirst()
  if (first?.state !== 'failed') return first ? [first] : []
  const again = await runs
    .select(['state', 'ended_at'])
    .where('requested_by', '=', 'cron')
    .where('slot', 'is', null)
    .where('requested_at', '>=', first.requested_at)
    .limit(AGAIN_TIMES)
    .execute()
  return [first, ...again]
}

function isDueAgain(runs: readonly SlotRun[], nowMs: number): boolean {
  const rested = runs.every(
    ({ state, ended_at }) => state === 'failed' && ended_at !== null && msFromTime(ended_at) <= nowMs - AGAIN_AFTER_MS,
  )
  return rested && runs.length <= AGAIN_TIMES
}

/**
 * @returns the id of a run without options that is waiting, or that was in progress at the scheduled time `slot`. Null
 * if there is none. Runs that were interrupted before `slot` don't count.
 */
async function openLikeIt(tx: Tx, account: string, slot: TimeText): Promise<string | null> {
  const alive = timeValue(tx, timeFromMs(msFromTime(slot) - RUN_LEASE_MS))
  const open = await tx.all(sql<Columns<'reconcile_runs', 'run_id' | 'options'>>`
    select run_id, options from reconcile_runs where account = ${account}
    and (state = 'requested' or (state = 'running' and updated_at >= ${alive})) order by requested_at limit 100`)
  return open.find(({ options }) => sameOptions(options, OPTIONS))?.run_id ?? null
}
