import { entities } from '../../model/entities.ts'
import { type EpochOfChange, readEpochs } from '../../store/changes/log-epoch.ts'
import type { Db, Tx } from '../../store/engine/db.ts'
import { findDestination } from '../../store/outbox/destinations.ts'
import { type FanOutChange, lockFanOut, lockLogEnd, type NewOutboxRow, queueRows } from '../../store/outbox/fan-out.ts'
import { endRestatement, nextRestatement, type Restatement, requestRestatements } from '../../store/outbox/restatements.ts'
import { rowsOfSubmission, type SnapshotRow } from '../../store/outbox/snapshot-rows.ts'
import { IMMUTABLE } from '../contract/message-id.ts'
import { wants } from './filter.ts'
import { type FanOutDestination, mayHaveBeenSent, presentRow } from './queued-rows.ts'

/** Maximum rows of a submission per table. No submission has this many rows in a table. */
export const MOST_ROWS = 10_000

/**
 * After a restore, requests restatements: the current rows of a submission are sent again. A submission is selected if
 * an event or message from before the restore is inserted before the full re-read ends. The restored database lacked
 * this event or message. The database may therefore lack other changes of the submission that the lost database sent.
 * Inserts with the cause `backfill` don't count.
 */
export async function requestRestated(
  tx: Tx,
  destinations: readonly FanOutDestination[],
  changes: readonly FanOutChange[],
  epochOf: (seq: number) => EpochOfChange,
): Promise<void> {
  const found = changes.filter((change) => {
    const epoch = epochOf(change.seq)
    return change.submission_id !== null && change.cause !== 'backfill' && epoch.isRecovering && mayHaveBeenSent(change, epoch)
  })
  const submissions = new Map(found.map((change) => [`${change.account} ${change.submission_id}`, change]))
  const requested = [...submissions.values()].flatMap(({ account, submission_id }): Restatement[] =>
    destinations
      .filter((destination) => destination.accounts.includes(account))
      .map(({ name }) => ({ destination: name, account, submission_id: submission_id ?? '' })),
  )
  if (requested.length > 0) await requestRestatements(tx, requested)
}

/**
 * Restates one submission: queues its current rows. Leaves out events and messages, because the full re-read inserts
 * lost events and messages again. Does nothing until all changes are queued and no snapshot is in progress. Locks the
 * change log, so that later changes are queued after the rows.
 * @returns whether more submissions may be waiting for a restatement.
 */
export async function stepRestatement(db: Db, destination: FanOutDestination): Promise<boolean> {
  if ((await nextRestatement(db.read, destination.name)) === null) return false
  return db.write('push-restate', async (tx) => {
    await lockFanOut(tx)
    const { lastSeq } = await lockLogEnd(tx)
    const state = await findDestination(tx, destination.name)
    const next = await nextRestatement(tx, destination.name)
    if (state === null || state.snapshot !== null || state.cursor !== lastSeq || next === null) return false
    // If tracking began after the restore, the change log has all rows of the submission, so none is sent again.
    const rows = next.isNew ? [] : await rowsOfSubmission(tx, tablesOf(destination), next.account, next.submission_id, MOST_ROWS)
    const epoch = (await readEpochs(tx))(Number.POSITIVE_INFINITY)
    await queueRows(tx, outboxRows(tx, destination, rows, lastSeq, epoch.logEpoch), [{ destination: destination.name, cursor: lastSeq }])
    await endRestatement(tx, next)
    return true
  })
}

export function tablesOf(destination: FanOutDestination): string[] {
  const wanted = entities.map(({ table }) => table).filter((table) => !IMMUTABLE.has(table))
  return wanted.filter((table) => destination.entities?.includes(table) ?? true)
}

/** Makes outbox rows with the operation `update`, because the inserts of these records were sent before. */
function outboxRows(tx: Tx, destination: FanOutDestination, rows: readonly SnapshotRow[], seq: number, logEpoch: string): NewOutboxRow[] {
  const nowMs = tx.clock.now()
  const given = { operation: 'update', seq, uncertain: false, logEpoch, nowMs }
  return rows.filter((row) => isRestated(destination, row, nowMs)).map((row) => presentRow(row, destination.name, given))
}

/** @returns whether a restated row passes the destination's settings. `filter` isn't evaluated. */
export function isRestated(destination: FanOutDestination, { account, entity }: SnapshotRow, nowMs: number): boolean {
  const about = { account, entity, operation: 'update', cause: 'snapshot', snapshot: false, eventType: null, occurredAt: null }
  return wants(destination, about, nowMs)
}
