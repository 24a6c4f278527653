import { timeFromMs } from '../../model/time.ts'
import { readEpochs } from '../../store/changes/log-epoch.ts'
import type { Db, Tx } from '../../store/engine/db.ts'
import { recordText, recordTimes } from '../../store/mirror/record-times.ts'
import { type DestinationRow, findDestination } from '../../store/outbox/destinations.ts'
import { changesToFanOut, lockFanOut, lockLogEnd, type NewOutboxRow, queueRows } from '../../store/outbox/fan-out.ts'
import { type SnapshotRow, snapshotPage, stillToCome } from '../../store/outbox/snapshot-rows.ts'
import { messageId } from '../contract/message-id.ts'
import { wants } from './filter.ts'
import { type FanOutDestination, type Getter, mayHaveBeenSent, rowsFor } from './queued-rows.ts'

/** Rows of the mirror in one transaction, besides as many changes. */
const PAGE_ROWS = { sqlite: 100, postgres: 200 } as const
/** While so many rows wait for a destination, its snapshot does not go on: a dead one must not double the database. */
const MAX_QUEUED = 10_000

/** What a step did: it `moved` on, and there may be more to do at once; it came to the end; or there is nothing to do now. */
export type SnapshotStep = 'moved' | 'ended' | 'idle'

/**
 * Takes one step of a destination's snapshot. It walks through the mirror in the order of its keys; a page is read at a moment at which
 * nobody appends to the change log and every change up to there is fanned out. What happens to a record later is then queued behind its
 * row; what happens to one that the walk has still before it is left out, since its row will show it. So the destination gets each
 * row once, as of a known `seq`, and each later change of it once, in order.
 */
export function stepSnapshot(db: Db, destination: FanOutDestination, limit: number): Promise<SnapshotStep> {
  return db.write('push-snapshot', async (tx) => {
    await lockFanOut(tx)
    const end = await lockLogEnd(tx)
    const state = await findDestination(tx, destination.name)
    if (state === null || state.snapshot === null) return 'idle'
    const { rows, cursor } = await knownChanges(tx, destination, state, limit, end.lastSeq)
    const caughtUp = cursor === end.lastSeq
    if (!caughtUp || state.queued + rows.length >= MAX_QUEUED) {
      if (cursor === state.cursor) return 'idle'
      await queueRows(tx, rows, [{ destination: destination.name, cursor }])
      return caughtUp ? 'idle' : 'moved'
    }
    const page = await snapshotPage(tx, destination, state.snapshot.position, PAGE_ROWS[tx.kind])
    rows.push(...(await pageRows(tx, { ...destination, logEpoch: state.log_epoch }, page.rows, cursor)))
    const snapshot = page.position === null ? null : { position: page.position }
    await queueRows(tx, rows, [{ destination: destination.name, cursor, snapshot }])
    return snapshot === null ? 'ended' : 'moved'
  })
}

/**
 * The next changes, as far as they are about records that the snapshot has passed.
 * @param lastSeq the end of the log, which is held: there the log may have a hole.
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
  return { rows: await rowsFor(tx, [{ ...destination, logEpoch: state.log_epoch }], known, await readEpochs(tx)), cursor }
}

/** @param seq the newest change that the rows contain. */
async function pageRows(tx: Tx, destination: Getter, rows: readonly SnapshotRow[], seq: number): Promise<NewOutboxRow[]> {
  const epoch = (await readEpochs(tx))(Number.POSITIVE_INFINITY)
  const named = rows.map((row) => ({ account: row.account, entity: row.entity, entity_id: row.entityId }))
  const times = destination.maxAgeMs === null ? new Map() : await recordTimes(tx, named)
  const now = tx.clock.now()
  const wanted = rows.filter((row, index) => {
    const about = { account: row.account, entity: row.entity, operation: 'insert', cause: 'snapshot', snapshot: true }
    const eventType = row.entity === 'market_events' ? String(row.after['type']) : null
    const time = named[index] && times.get(recordText(named[index]))
    return wants(destination, { ...about, eventType, occurredAt: time?.occurredAt ?? null }, now)
  })
  return wanted.map((row) => ({
    destination: destination.name,
    account: row.account,
    submissionId: row.submissionId,
    entity: row.entity,
    entityId: row.entityId,
    operation: 'insert',
    cause: 'snapshot',
    seq,
    messageId: messageId({ ...row, operation: 'insert', seq, snapshot: true }, epoch.logEpoch),
    snapshot: { changed_at: timeFromMs(now), after: row.after },
    // A snapshot that was under way in the database that was lost went on there.
    uncertain:
      destination.logEpoch !== epoch.logEpoch && mayHaveBeenSent({ ...row, operation: 'insert', occurred_at: occurredAt(row) }, epoch),
  }))
}

function occurredAt({ after }: SnapshotRow): string | null {
  const at = after['occurred_at']
  return typeof at === 'string' ? at : null
}
