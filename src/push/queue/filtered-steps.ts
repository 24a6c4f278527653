import { submissions } from '../../model/entities/submissions.ts'
import { type EpochOfChange, readEpochs } from '../../store/changes/log-epoch.ts'
import type { Db, Query, Tx } from '../../store/engine/db.ts'
import { type DestinationRow, findDestination, hasQueued } from '../../store/outbox/destinations.ts'
import {
  type CursorMove,
  changesOfSubmission,
  changesToFanOut,
  type FanOutChange,
  lockFanOut,
  type NewOutboxRow,
  queueRows,
} from '../../store/outbox/fan-out.ts'
import { knownAmong, passedText, storePassed } from '../../store/outbox/passed.ts'
import { changeContents, presentRows } from '../../store/outbox/present-rows.ts'
import { endRestatement, nextRestatement } from '../../store/outbox/restatements.ts'
import { rowsOfSubmission, type SnapshotRow, snapshotPage, stillToCome } from '../../store/outbox/snapshot-rows.ts'
import { purgedUnderLock, submissionKeys } from '../../store/reads/purged.ts'
import { Admission } from './admission.ts'
import { type ContentFilter, failureText, type JudgedRow, judgeRows } from './judge.ts'
import { type FanOutDestination, presentRow, type Recipient, rowsFor, wholeRow } from './queued-rows.ts'
import { isRestated, MOST_ROWS, requestRestated, tablesOf } from './restate.ts'
import { MAX_QUEUED, PAGE_ROWS, snapshotRow, wantedOfPage } from './snapshot.ts'

/** Maximum changes per step. The content of each change is read and judged separately. */
const MAX_CHANGES = 200
/** Maximum earlier changes of a submission that are judged again. */
const MOST_EARLY = 1_000

export interface Filtered {
  readonly db: Db
  readonly destination: FanOutDestination
  readonly filter: ContentFilter
}

export interface FilteredStep {
  /** Whether more changes may be waiting. */
  readonly more: boolean
  /** Why the filter failed, and on which row; null if the filter succeeded. */
  readonly failed: string | null
  /** True if changes older than `max_age` wait, because this machine's clock isn't trusted. */
  readonly isHeld?: true
}

const IDLE: FilteredStep = { more: false, failed: null }

/** The destination's state and the log's epochs, as they were when the rows were judged. */
interface Basis {
  readonly state: DestinationRow
  readonly epochOf: (seq: number) => EpochOfChange
}

/**
 * Fans out the next changes. Reads and judges them before the transaction. The transaction queues the passing changes,
 * unless another process has moved the destination's cursor. Rows, cursor, and filter states commit together.
 * @param mayDrop whether changes older than `max_age` may be dropped. Dropping is final.
 */
export async function stepChanges(to: Filtered, state: DestinationRow, mayDrop: boolean): Promise<FilteredStep> {
  const { db, destination } = to
  const changes = await changesToFanOut(db.read, state.cursor, MAX_CHANGES)
  const last = changes.at(-1)
  if (!last) return IDLE
  const epochOf = await readEpochs(db.read)
  const recipient = recipientOf(destination, state)
  const reached = await reachedBy(db.read, state, changes)
  const { rows, held } = await rowsFor(db.read, [recipient], reached, epochOf, mayDrop)
  const { judged, failed } = await judgeRows(db.read, to.filter, rows)
  const heldAt = held.get(destination.name)
  const cursor = (failed?.row.seq ?? heldAt ?? last.seq + 1) - 1
  const judgedChanges = changes.filter(({ seq }) => seq <= cursor)
  const early = await reachedBy(db.read, state, await judgedEarly(db.read, to, judgedChanges))
  const again = await judgeRows(db.read, to.filter, (await rowsFor(db.read, [recipient], early, epochOf, mayDrop)).rows)
  if (again.failed !== null) return { more: false, failed: failureText(again.failed) }
  const isMoved =
    cursor > state.cursor &&
    (await db.write(
      'push-filter',
      queueing(destination, { state, epochOf }, judged, {
        take: (admission, each) => admission.takeChange(each),
        again: again.judged,
        move: { cursor },
        also: async (tx) => {
          await requestRestated(tx, [destination], judgedChanges, epochOf)
          return true
        },
      }),
    ))
  if (failed !== null) return { more: false, failed: failureText(failed) }
  if (heldAt !== undefined) return { more: false, failed: null, isHeld: true }
  return { more: !isMoved || changes.length === MAX_CHANGES, failed: null }
}

/**
 * Finds records that were judged while the row of their submission was incomplete, to judge these records again. For
 * example, the events of a new submission arrive before its state. If `changes` fill an empty column of a submission,
 * selects the records of the submission's earlier changes.
 * @returns the newest change of each record. Empty if the filter doesn't use `submission`.
 */
async function judgedEarly(q: Query, { destination }: Filtered, changes: readonly FanOutChange[]): Promise<FanOutChange[]> {
  if (destination.filter === null || !/\bsubmission\b/.test(destination.filter)) return []
  const updates = changes.filter(({ entity, operation }) => entity === submissions.table && operation === 'update')
  const seqs = updates.map(({ seq }) => seq)
  const contents = await changeContents(q, seqs)
  const early = new Map<string, FanOutChange>()
  for (const update of updates) {
    const before = contents.get(update.seq)?.before ?? {}
    if (!Object.values(before).includes(null)) continue
    for (const change of await changesOfSubmission(q, update, MOST_EARLY))
      if (change.entity !== submissions.table) early.set(passedText({ ...change, entityId: change.entity_id }), change)
  }
  return [...early.values()]
}

/** Leaves out changes of records that the snapshot hasn't reached. The snapshot's rows will include these changes. */
async function reachedBy(q: Query, { snapshot }: DestinationRow, changes: readonly FanOutChange[]): Promise<readonly FanOutChange[]> {
  if (snapshot === null) return changes
  const toCome = await stillToCome(q, snapshot.position, changes)
  return changes.filter((_, index) => toCome[index] !== true)
}

/**
 * Takes one snapshot step. Unlike a snapshot without a `filter`, this step doesn't lock the change log. Instead,
 * the filter state of each record stores the `seq` of the newest change in the sent row. Changes up to this `seq`
 * aren't sent again.
 */
export async function stepFilteredSnapshot(to: Filtered, state: DestinationRow): Promise<FilteredStep & { readonly isOver?: true }> {
  const { db, destination } = to
  if (state.snapshot === null || (await hasQueued(db.read, destination.name, MAX_QUEUED))) return IDLE
  const epochOf = await readEpochs(db.read)
  const page = await snapshotPage(db.read, destination, state.snapshot.position, PAGE_ROWS[db.kind])
  const recipient = recipientOf(destination, state)
  const given = { epoch: epochOf(Number.POSITIVE_INFINITY), nowMs: db.clock.now() }
  const present = await asPresent(db.read, await wantedOfPage(db.read, destination, page.rows))
  const rows = present.map(({ row, asOf }) => snapshotRow(row, recipient, { ...given, seq: asOf }))
  const { judged, failed } = await judgeRows(db.read, to.filter, rows)
  if (failed !== null) return { more: false, failed: failureText(failed) }
  const snapshot = page.position === null ? null : { position: page.position }
  const isMoved = await db.write(
    'push-snapshot',
    queueing(destination, { state, epochOf }, judged, {
      take: (admission, each) => admission.takeSnapshotRow(each),
      move: { cursor: state.cursor, snapshot },
    }),
  )
  return { more: true, failed: null, ...(isMoved && snapshot === null && { isOver: true }) }
}

/** Sends the next submission again after a restore; see `stepRestatement`. */
export async function stepFilteredRestatement(to: Filtered, state: DestinationRow): Promise<FilteredStep> {
  const { db, destination } = to
  const next = await nextRestatement(db.read, destination.name)
  if (next === null || state.snapshot !== null) return IDLE
  const { account, submission_id } = next
  const epochOf = await readEpochs(db.read)
  const nowMs = db.clock.now()
  // If tracking began after the restore, the change log has all rows of the submission, so none is sent again.
  const found = next.isNew ? [] : await rowsOfSubmission(db.read, tablesOf(destination), account, submission_id, MOST_ROWS)
  const wanted = found.filter((row) => isRestated({ ...destination, operations: null }, row, nowMs))
  const { logEpoch } = epochOf(Number.POSITIVE_INFINITY)
  const rows = (await asPresent(db.read, wanted)).map(({ row, asOf }) =>
    presentRow(row, destination.name, { operation: 'update', seq: asOf, uncertain: false, logEpoch, nowMs }),
  )
  const { judged, failed } = await judgeRows(db.read, to.filter, rows)
  if (failed !== null) return { more: false, failed: failureText(failed) }
  await db.write(
    'push-restate',
    queueing(destination, { state, epochOf }, judged, {
      take: (admission, each) => admission.takeRestated(each),
      move: { cursor: state.cursor },
      also: async (tx) => {
        const still = await nextRestatement(tx, destination.name)
        if (still?.account !== account || still.submission_id !== submission_id) return false
        await endRestatement(tx, next)
        return true
      },
    }),
  )
  return { more: true, failed: null }
}

/** @returns the rows that are still in the mirror, with the `seq` up to which each row is current. */
async function asPresent(q: Query, rows: readonly SnapshotRow[]): Promise<{ readonly row: SnapshotRow; readonly asOf: number }[]> {
  const presents = await presentRows(q, rows)
  return rows.flatMap((row) => {
    const present = presents.get(passedText(row))
    return present === undefined ? [] : [{ row: { ...row, after: present.after }, asOf: present.asOf }]
  })
}

/**
 * @returns the destination with all operations allowed. `operations` is applied after judging, because judging may
 * change a row's operation.
 */
function recipientOf(destination: FanOutDestination, { log_epoch: logEpoch }: DestinationRow): Recipient {
  return { ...destination, operations: null, logEpoch }
}

interface Queueing {
  readonly take: (admission: Admission, each: JudgedRow) => void
  /** Rows of the records that `judgedEarly` found, judged again. */
  readonly again?: readonly JudgedRow[]
  readonly move: Pick<CursorMove, 'cursor' | 'snapshot'>
  /**
   * Further writes of the transaction.
   * @returns false if another process has already made these writes. Nothing is queued then.
   */
  readonly also?: (tx: Tx) => Promise<boolean>
}

/**
 * @returns a transaction that queues the judged rows. The transaction returns true if it queued the rows, and false if
 * another process was faster.
 */
function queueing(
  destination: FanOutDestination,
  basis: Basis,
  judged: readonly JudgedRow[],
  { take, again = [], move, also }: Queueing,
): (tx: Tx) => Promise<boolean> {
  return async (tx) => {
    await lockFanOut(tx)
    if (!(await isAsBefore(tx, destination.name, basis))) return false
    if (also && !(await also(tx))) return false
    const all = [...judged, ...again].map(({ row }) => row)
    const known = await knownAmong(tx, basis.state, all)
    const isIn = (row: NewOutboxRow) => known.passed.get(passedText(row))?.isIn === true
    const isWhole = ({ row, isCurrent }: JudgedRow) => row.snapshot !== null || !(isIn(row) || isCurrent)
    const whole = [...judged.filter(isWhole), ...again]
    // Locks the submissions of complete records, so that none is purged during this transaction. The records of a
    // submission that is already purged don't pass.
    const purged = await purgedUnderLock(tx, submissionKeys(whole.flatMap(({ row, passes }) => (passes ? [row] : []))))
    const nowMs = tx.clock.now()
    const wholeOf = (row: NewOutboxRow, present: Parameters<typeof wholeRow>[1], isAgain: boolean) =>
      wholeRow(row, present, { isAgain, epoch: basis.epochOf(row.seq), nowMs })
    const admission = new Admission(known, wholeOf)
    const unlessPurged = (each: JudgedRow) =>
      purged.has(`${each.row.account} ${each.row.submissionId}`) ? { ...each, passes: false, present: null } : each
    for (const each of judged) take(admission, unlessPurged(each))
    for (const each of again) admission.takeAgain(unlessPurged(each))
    await storePassed(tx, destination.name, admission.changed)
    const rows = admission.rows.filter(({ operation }) => destination.operations?.includes(operation) ?? true)
    await queueRows(tx, rows, [{ ...move, destination: destination.name, filtered: admission.filtered }])
    return true
  }
}

/**
 * @returns whether nothing changed since the rows were judged. Compares the newest log epoch, and the destination's
 * cursor, snapshot position, and log epoch.
 */
async function isAsBefore(tx: Tx, name: string, { state, epochOf }: Basis): Promise<boolean> {
  const now = await findDestination(tx, name)
  const placeOf = ({ cursor, log_epoch, snapshot }: DestinationRow) => JSON.stringify([cursor, log_epoch, snapshot])
  const newest = Number.POSITIVE_INFINITY
  const { logEpoch } = (await readEpochs(tx))(newest)
  return now !== null && placeOf(now) === placeOf(state) && logEpoch === epochOf(newest).logEpoch
}
