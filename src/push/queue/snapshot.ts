import { type EpochOfChange, readEpochs } from '../../store/changes/log-epoch.ts'
import type { Db, Query, Tx } from '../../store/engine/db.ts'
import { recordText, recordTimes } from '../../store/mirror/record-times.ts'
import { type DestinationRow, findDestination, hasQueued } from '../../store/outbox/destinations.ts'
import { changesToFanOut, lockFanOut, lockLogEnd, type NewOutboxRow, queueRows } from '../../store/outbox/fan-out.ts'
import { type SnapshotRow, snapshotPage, stillToCome } from '../../store/outbox/snapshot-rows.ts'
import { wants } from './filter.ts'
import { type FanOutDestination, mayHaveBeenSent, occurredAt, presentRow, type Recipient, rowsFor } from './queued-rows.ts'

/** Maximum mirror rows that one snapshot step queues, in addition to changes from the log. */
export const PAGE_ROWS = { sqlite: 100, postgres: 200 } as const
/**
 * While this many rows are queued for the destination, its snapshot pauses. Otherwise, a snapshot for an unreachable
 * destination could double the size of the database.
 */
export const MAX_QUEUED = 10_000

/** `moved`: the next step may have work. `ended`: the snapshot is complete. `idle`: nothing to do now. */
export type SnapshotStep = 'moved' | 'ended' | 'idle'

/**
 * Takes one step of a destination's snapshot. The snapshot reads the mirror in key order, page by page. A page is read
 * only when all changes are queued, while the change log is locked.
 * If a record changes after its page was read, the change is queued after the record's row. If a record changes before
 * its page is read, the change is dropped, because the record's row will include the change. The destination therefore
 * gets each row once, and each later change once, in order.
 */
export function stepSnapshot(db: Db, destination: FanOutDestination, limit: number): Promise<SnapshotStep> {
  return db.write('push-snapshot', async (tx) => {
    await lockFanOut(tx)
    const end = await lockLogEnd(tx)
    const state = await findDestination(tx, destination.name)
    if (state === null || state.snapshot === null) return 'idle'
    const { rows, cursor } = await knownChanges(tx, destination, state, limit, end.lastSeq)
    const isCaughtUp = cursor === end.lastSeq
    if (!isCaughtUp || (await hasQueued(tx, destination.name, MAX_QUEUED - rows.length))) {
      if (cursor === state.cursor) return 'idle'
      await queueRows(tx, rows, [{ destination: destination.name, cursor }])
      return isCaughtUp ? 'idle' : 'moved'
    }
    const page = await snapshotPage(tx, destination, state.snapshot.position, PAGE_ROWS[tx.kind])
    rows.push(...(await pageRows(tx, { ...destination, logEpoch: state.log_epoch }, page.rows, cursor)))
    const snapshot = page.position === null ? null : { position: page.position }
    await queueRows(tx, rows, [{ destination: destination.name, cursor, snapshot }])
    return snapshot === null ? 'ended' : 'moved'
  })
}

/**
 * @returns outbox rows for the next changes of records that the snapshot has already read, and the new cursor.
 * @param lastSeq last `seq` of the locked change log. The cursor moves to this `seq` if there are fewer
 * than `limit` changes.
 */
async function knownChanges(
  tx: Tx,
  destination: FanOutDestination,
  state: DestinationRow,
  limit: number,
  lastSeq: number,
): Promise<{ rows: NewOutboxRow[]; cursor: number }> {
  const changes = await changesToFanOut(tx, state.cursor, limit)
  const toCome = await stillToCome(tx, state.snapshot?.position ?? null, changes)
  const known = changes.filter((_, index) => !toCome[index])
  const cursor = changes.length < limit ? lastSeq : (changes.at(-1)?.seq ?? state.cursor)
  // Changes older than `max_age` may be dropped here, because a snapshot with `max_age` runs only while
  // this machine's clock is trusted.
  const { rows } = await rowsFor(tx, [{ ...destination, logEpoch: state.log_epoch }], known, await readEpochs(tx), true)
  return { rows, cursor }
}

/** @param seq the newest change that the rows contain. */
async function pageRows(tx: Tx, destination: Recipient, rows: readonly SnapshotRow[], seq: number): Promise<NewOutboxRow[]> {
  const epoch = (await readEpochs(tx))(Number.POSITIVE_INFINITY)
  return (await wantedOfPage(tx, destination, rows)).map((row) => snapshotRow(row, destination, { seq, epoch, nowMs: tx.clock.now() }))
}

/** @returns the rows of a page that pass the destination's settings. `filter` isn't evaluated. */
export async function wantedOfPage(q: Query, destination: FanOutDestination, rows: readonly SnapshotRow[]): Promise<SnapshotRow[]> {
  const named = rows.map((row) => ({ account: row.account, entity: row.entity, entity_id: row.entityId }))
  const times = destination.maxAgeMs === null ? new Map() : await recordTimes(q, named)
  const now = q.clock.now()
  return rows.filter((row, index) => {
    const about = { account: row.account, entity: row.entity, operation: 'insert', cause: 'snapshot', snapshot: true }
    const eventType = row.entity === 'market_events' ? String(row.after['type']) : null
    const time = named[index] && times.get(recordText(named[index]))
    return wants(destination, { ...about, eventType, occurredAt: time?.occurredAt ?? null }, now)
  })
}

export function snapshotRow(
  row: SnapshotRow,
  destination: Recipient,
  { seq, epoch, nowMs }: { readonly seq: number; readonly epoch: EpochOfChange; readonly nowMs: number },
): NewOutboxRow {
  const operation = 'insert'
  // If the destination's log epoch isn't the newest, the database was restored. The lost database may have sent rows of
  // the same snapshot.
  const isDoubtful = destination.logEpoch !== epoch.logEpoch
  const uncertain = isDoubtful && mayHaveBeenSent({ ...row, operation, occurred_at: occurredAt(row.after) }, epoch)
  return presentRow(row, destination.name, { operation, seq, uncertain, logEpoch: epoch.logEpoch, nowMs })
}
