import { msFromTime, type TimeText, timeFromMs } from '../../model/time.ts'
import type { Db, Query, Tx } from '../engine/db.ts'
import { timeValue } from '../engine/sql.ts'
import { findAccount } from '../reads/accounts.ts'
import { insertRun, newRun, type RunRow, sameOptions } from './runs.ts'
import { RUN_LEASE_MS } from './work.ts'

/**
 * What became of a time of the timetable. `requested`: its run waits for a process. `again`: so it does once more, because the one before
 * failed. `taken`: it has its run. `before`: the account was not served yet. `skipped`: another run does the same.
 */
export type SlotOutcome = 'requested' | 'again' | 'taken' | 'before' | 'skipped'

/** A run that failed, say because the service was away, is made again after such a while, so many times. */
const AGAIN_AFTER_MS = 15 * 60_000
const AGAIN_TIMES = 4

/** Everything: what a run of the timetable looks at. */
const OPTIONS = {}

/**
 * Asks for the run of the last time of the timetable, once, however many processes do. A time before the account was first served is
 * none. While another run of the account that looks at everything is in progress or waits, none is begun, and that is kept; behind one
 * that does less, or was broken off before that time, it waits.
 */
export async function requestSlot(db: Db, account: string, slot: TimeText): Promise<SlotOutcome> {
  const known = await runsOf(db.read, account, slot)
  if (known.length > 0 && !(isDueAgain(known, db.clock.now()) && (await findAccount(db.read, account))?.state === 'active')) return 'taken'
  return db.write('reconcile-slot', async (tx) => {
    const mine = tx.sql.selectFrom('sync_reconcile').select('since').where('account', '=', account)
    const row = await (tx.kind === 'postgres' ? mine.forUpdate() : mine).executeTakeFirst()
    if (!row || row.since > slot) return 'before'
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

/** The run of a time, and those that were made because it had failed. */
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
 * A run that waits, or was in progress at that time, and that looks at everything. One that was broken off before has proved what it
 * came to before, too.
 */
async function openLikeIt(tx: Tx, account: string, slot: TimeText): Promise<string | null> {
  const alive = timeValue(tx, timeFromMs(msFromTime(slot) - RUN_LEASE_MS))
  const open = await tx.sql
    .selectFrom('reconcile_runs')
    .select(['run_id', 'options'])
    .where('account', '=', account)
    .where((eb) => eb.or([eb('state', '=', 'requested'), eb.and([eb('state', '=', 'running'), eb('updated_at', '>=', alive)])]))
    .orderBy('requested_at')
    .limit(100)
    .execute()
  return open.find(({ options }) => sameOptions(options, OPTIONS))?.run_id ?? null
}
