import { sql } from 'kysely'
import { LeaseLostError } from '../../base/errors.ts'
import { type TimeText, timeFromMs } from '../../model/time.ts'
import type { Db, Query, Tx } from '../engine/db.ts'
import { Leased, newLeaseToken } from '../engine/leased.ts'
import { dbTime, rowLock } from '../engine/sql.ts'
import type { UpkeepTable } from '../schema/upkeep.ts'

/**
 * A stored slot that is more than this many ms ahead comes from a wrong clock. The limit is greater than any difference
 * between time zones.
 */
const AHEAD_MS = 2 * 86_400_000

/** The lease of one run of a task. The process that has the lease performs the task for all processes. */
export interface UpkeepLease {
  readonly task: string
  readonly leaseToken: string
  readonly leaseMs: number
  readonly position: number
}

export interface UpkeepSlot {
  /** The period that a run is for, such as a day, as text that sorts by time. */
  readonly slot: string
  /** Settings of the task. If they differ from the settings of the last run, the task runs again for the same slot. */
  readonly settings: string
}

/** `done`: the run is complete. `held`: another process has the lease, or had it a moment ago. */
export type UpkeepClaim = UpkeepLease | 'done' | 'held'

export const claimedTasks = new Leased<UpkeepLease>({
  table: 'sync_upkeep',
  what: 'task',
  key: { task: 'task' },
  due: 'lease_until',
})

/**
 * Claims a run of a task. Resumes an unfinished run, for example after its process died.
 * @returns the lease; `done` or `held` if there is nothing to do.
 */
export async function claimUpkeep(db: Db, task: string, due: UpkeepSlot, leaseMs: number): Promise<UpkeepClaim> {
  const { slot, settings } = due
  // Usually the run is already done. Check this first, to avoid a transaction.
  const known = await db.read.sql.selectFrom('sync_upkeep').selectAll().where('task', '=', task).executeTakeFirst()
  if (known && isDone(known, due, db.clock.now())) return 'done'
  return db.write('upkeep-claim', async (tx) => {
    await addTask(tx, task)
    const locked = tx.sql.selectFrom('sync_upkeep').selectAll().where('task', '=', task).modifyEnd(rowLock(tx, 'for update'))
    const row = await locked.executeTakeFirstOrThrow()
    if (isDone(row, due, tx.clock.now())) return 'done'
    const leaseToken = newLeaseToken(db)
    // A resumed run keeps its start time, which shows how long the run has been unfinished.
    const isResumed = row.began_at !== null && row.ended_at === null
    const set = sql`slot = ${slot}, settings = ${settings}, began_at = ${isResumed ? sql.ref('began_at') : dbTime(tx)}, ended_at = null,
      note = null, waits_since = null, waits_for = null`
    const taken = await claimedTasks.claimOne(tx, leaseToken, { task }, { leaseMs, set })
    return taken === null ? 'held' : { task, leaseToken, leaseMs, position: row.position }
  })
}

/**
 * Claims, performs, and ends a run of a task. If the run fails or is interrupted, it is due again immediately.
 * @param work does the task and returns a sentence that sums up the run; null if it was interrupted.
 * @returns `done` and `held` as in `claimUpkeep`; `ran` if `work` finished; `stopped` if `work` was interrupted.
 * @throws errors of `work`.
 */
export async function runUpkeep(
  db: Db,
  task: string,
  due: UpkeepSlot,
  leaseMs: number,
  work: (lease: UpkeepLease) => Promise<string | null>,
): Promise<'done' | 'held' | 'ran' | 'stopped'> {
  const lease = await claimUpkeep(db, task, due, leaseMs)
  if (typeof lease === 'string') return lease
  let note: string | null = null
  try {
    note = await work(lease)
    return note === null ? 'stopped' : 'ran'
  } finally {
    await endUpkeep(db, lease, note).catch(ignoreLost)
  }
}

function ignoreLost(error: unknown): void {
  if (!(error instanceof LeaseLostError)) throw error
}

async function addTask(tx: Tx, task: string): Promise<void> {
  await tx.run(sql`insert into sync_upkeep (task, position) values (${task}, 0) on conflict do nothing`)
}

/**
 * @returns whether the run of this slot is complete. True also if a run of a later slot is stored, because another
 * process may be ahead. Ignores a stored slot over two days in the future, because such a slot comes from a wrong
 * clock.
 */
function isDone(row: Pick<UpkeepTable, 'slot' | 'settings' | 'ended_at'>, { slot, settings }: UpkeepSlot, nowMs: number): boolean {
  if (row.slot === null || row.slot < slot || row.slot > timeFromMs(nowMs + AHEAD_MS)) return false
  return row.slot > slot || (row.ended_at !== null && row.settings === settings)
}

/**
 * Renews the lease of a run.
 * @param position new progress; undefined keeps the stored progress.
 * @throws LeaseLostError if this process lost the lease.
 */
export async function renewUpkeep(tx: Tx, lease: UpkeepLease, position?: number): Promise<void> {
  await claimedTasks.renew(tx, lease, lease.leaseMs, position === undefined ? undefined : sql`position = ${position}`)
}

/**
 * Ends a run and its lease.
 * @param note sums up the run. Null if the run was interrupted; another process may then resume the run immediately.
 */
export async function endUpkeep(db: Db, lease: UpkeepLease, note: string | null): Promise<void> {
  await db.write('upkeep-end', async (tx) => {
    const ended = note === null ? sql`` : sql`, ended_at = ${dbTime(tx)}`
    await claimedTasks.release(tx, lease, 0, sql`note = ${note} ${ended}`)
  })
}

export async function isUpkeepDone(db: Db, task: string, due: UpkeepSlot): Promise<boolean> {
  const row = await lastUpkeep(db.read, task)
  return row !== null && isDone(row, due, db.clock.now())
}

/**
 * @returns a text that identifies a run. If an operator confirms a run, the confirmation is valid only for this text.
 */
export function slotText({ slot, settings }: UpkeepSlot): string {
  return `${slot} ${settings}`
}

/**
 * Stores what a run waits for; null if the run doesn't wait. If the run already waited for something else, the time
 * when the wait began stays.
 */
export async function setUpkeepWait(db: Db, task: string, reason: string | null): Promise<void> {
  const known = await lastUpkeep(db.read, task)
  if ((known?.waits_for ?? null) === reason) return
  await db.write('upkeep-wait', async (tx) => {
    await addTask(tx, task)
    const waits_since = reason === null ? null : sql<TimeText>`coalesce(waits_since, ${dbTime(tx)})`
    await tx.sql.updateTable('sync_upkeep').set({ waits_for: reason, waits_since }).where('task', '=', task).execute()
  })
}

/** Stores that an operator confirmed a run that waits for confirmation. */
export async function confirmUpkeep(db: Db, task: string, due: UpkeepSlot): Promise<void> {
  await db.write('upkeep-confirm', async (tx) => {
    await addTask(tx, task)
    await tx.run(sql`update sync_upkeep set confirmed = ${slotText(due)} where task = ${task}`)
  })
}

export async function lastUpkeep(q: Query, task: string) {
  const row = await q.sql.selectFrom('sync_upkeep').selectAll().where('task', '=', task).executeTakeFirst()
  return row ?? null
}
