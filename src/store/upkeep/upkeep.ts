import { sql } from 'kysely'
import { LeaseLostError } from '../../base/errors.ts'
import { type TimeText, timeFromMs } from '../../model/time.ts'
import type { Db, Query, Tx } from '../engine/db.ts'
import { Leased, newLeaseToken } from '../engine/leased.ts'
import { dbTime, rowLock } from '../engine/sql.ts'
import type { UpkeepTable } from '../schema/upkeep.ts'

/** Time zones are at most this far apart, and a day begins in between. */
const AHEAD_MS = 2 * 86_400_000

/** The right to do one run of a task that one process does for all. */
export interface UpkeepLease {
  readonly task: string
  readonly leaseToken: string
  readonly leaseMs: number
  /** Progress of the task. */
  readonly position: number
}

/** One run of a task. */
export interface UpkeepSlot {
  /** A day, as text that sorts. */
  readonly slot: string
  /** When they differ from the last run's, the run is due again. */
  readonly settings: string
}

/** `done`: this run is done. `held`: another process is doing it, or was a moment ago. */
export type UpkeepClaim = UpkeepLease | 'done' | 'held'

export const claimedTasks = new Leased<UpkeepLease>({
  table: 'sync_upkeep',
  what: 'task',
  key: { task: 'task' },
  due: 'lease_until',
})

/** Starts a run of a task, or resumes one whose process died. Only one process gets it. */
export async function claimUpkeep(db: Db, task: string, turn: UpkeepSlot, leaseMs: number): Promise<UpkeepClaim> {
  const { slot, settings } = turn
  // Usually it is done; checking first avoids a write transaction.
  const known = await db.read.sql.selectFrom('sync_upkeep').selectAll().where('task', '=', task).executeTakeFirst()
  if (known && isDone(known, turn, db.clock.now())) return 'done'
  return db.write('upkeep-claim', async (tx) => {
    await addTask(tx, task)
    const locked = tx.sql.selectFrom('sync_upkeep').selectAll().where('task', '=', task).modifyEnd(rowLock(tx, 'for update'))
    const row = await locked.executeTakeFirstOrThrow()
    if (isDone(row, turn, tx.clock.now())) return 'done'
    const leaseToken = newLeaseToken(db)
    // A resumed run keeps its start time, which shows for how long it has not finished.
    const goesOn = row.began_at !== null && row.ended_at === null
    const set = sql`slot = ${slot}, settings = ${settings}, began_at = ${goesOn ? sql.ref('began_at') : dbTime(tx)}, ended_at = null,
      note = null, waits_since = null, waits_for = null`
    const taken = await claimedTasks.claimOne(tx, leaseToken, { task }, { leaseMs, set })
    return taken === null ? 'held' : { task, leaseToken, leaseMs, position: row.position }
  })
}

/**
 * Does a run of a task and ends it. What failed, or was interrupted, is due again at once.
 * @param work returns a sentence on what it did; null when it was interrupted.
 * @returns `done` and `held` as `claimUpkeep` does.
 * @throws what `work` throws.
 */
export async function runUpkeep(
  db: Db,
  task: string,
  turn: UpkeepSlot,
  leaseMs: number,
  work: (lease: UpkeepLease) => Promise<string | null>,
): Promise<'done' | 'held' | 'ran' | 'stopped'> {
  const lease = await claimUpkeep(db, task, turn, leaseMs)
  if (typeof lease === 'string') return lease
  let note: string | null = null
  try {
    note = await work(lease)
    return note === null ? 'stopped' : 'ran'
  } finally {
    // Of a lost lease nothing is left to end.
    await endUpkeep(db, lease, note).catch(ignoreLost)
  }
}

function ignoreLost(error: unknown): void {
  if (!(error instanceof LeaseLostError)) throw error
}

async function addTask(tx: Tx, task: string): Promise<void> {
  await sql`insert into sync_upkeep (task, position) values (${task}, 0) on conflict do nothing`.execute(tx.sql)
}

/** Another process may reach the next day a little earlier. A run dated days ahead was recorded by a wrong clock. */
function isDone(row: Pick<UpkeepTable, 'slot' | 'settings' | 'ended_at'>, { slot, settings }: UpkeepSlot, nowMs: number): boolean {
  if (row.slot === null || row.slot < slot || row.slot > timeFromMs(nowMs + AHEAD_MS)) return false
  return row.slot > slot || (row.ended_at !== null && row.settings === settings)
}

/**
 * Renews the lease, in a transaction of the task.
 * @param position progress of the task after this transaction; left out, it stays.
 * @throws LeaseLostError when another process has taken over; the transaction must then roll back.
 */
export async function renewUpkeep(tx: Tx, lease: UpkeepLease, position?: number): Promise<void> {
  await claimedTasks.renew(tx, lease, lease.leaseMs, position === undefined ? undefined : sql`position = ${position}`)
}

/** Ends the run. @param note what it did, in a sentence; null when it was interrupted: another process may then resume it at once. */
export async function endUpkeep(db: Db, lease: UpkeepLease, note: string | null): Promise<void> {
  await db.write('upkeep-end', async (tx) => {
    const ended = note === null ? sql`` : sql`, ended_at = ${dbTime(tx)}`
    await claimedTasks.release(tx, lease, 0, sql`note = ${note} ${ended}`)
  })
}

/** @returns whether the run is done already, as `claimUpkeep` would say. */
export async function isUpkeepDone(db: Db, task: string, turn: UpkeepSlot): Promise<boolean> {
  const row = await lastUpkeep(db.read, task)
  return row !== null && isDone(row, turn, db.clock.now())
}

/** @returns the text by which a run is known: an operator confirms this one, and no later one. */
export function slotText({ slot, settings }: UpkeepSlot): string {
  return `${slot} ${settings}`
}

/** Records why a run waits for an operator; null: it does not. The first time since it waits stays. Writes only what changes. */
export async function setUpkeepWait(db: Db, task: string, reason: string | null): Promise<void> {
  const known = await lastUpkeep(db.read, task)
  if ((known?.waits_for ?? null) === reason) return
  await db.write('upkeep-wait', async (tx) => {
    await addTask(tx, task)
    const waits_since = reason === null ? null : sql<TimeText>`coalesce(waits_since, ${dbTime(tx)})`
    await tx.sql.updateTable('sync_upkeep').set({ waits_for: reason, waits_since }).where('task', '=', task).execute()
  })
}

/** Lets a run take place whatever it waits for. */
export async function confirmUpkeep(db: Db, task: string, turn: UpkeepSlot): Promise<void> {
  await db.write('upkeep-confirm', async (tx) => {
    await addTask(tx, task)
    await tx.sql
      .updateTable('sync_upkeep')
      .set({ confirmed: slotText(turn) })
      .where('task', '=', task)
      .execute()
  })
}

/** The last run of a task; null when there was none. */
export async function lastUpkeep(q: Query, task: string) {
  const row = await q.sql.selectFrom('sync_upkeep').selectAll().where('task', '=', task).executeTakeFirst()
  return row ?? null
}
