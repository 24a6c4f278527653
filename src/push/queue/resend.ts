import { type EpochOfChange, readEpochs } from '../../store/changes/log-epoch.ts'
import type { Db, Query, Tx } from '../../store/engine/db.ts'
import { type ActionDetail, actionInProgress, recordProgress } from '../../store/operators/actions.ts'
import type { DestinationRow } from '../../store/outbox/destinations.ts'
import { type FanOutChange, lockFanOut, type NewOutboxRow, queueRows } from '../../store/outbox/fan-out.ts'
import { knownAmong, type Passed, passedText } from '../../store/outbox/passed.ts'
import { presentRows } from '../../store/outbox/present-rows.ts'
import {
  changesToResend,
  newestSelected,
  type ResendChange,
  type ResendSelection,
  selectedChanges,
  unsettledAmong,
} from '../../store/outbox/resend.ts'
import { purgedAmong, submissionKeys } from '../../store/reads/purged.ts'
import { renewedMessageId } from '../contract/message-id.ts'
import { type FanOutDestination, rowsFor, wholeRow } from './queued-rows.ts'

/** Largest range of `seq` numbers per read. */
const WINDOW = 5_000
/** Maximum changes per transaction. */
const STEP = 200

/** A range of `seq` numbers: greater than `after`, up to and including `to`. */
export interface ResendRange {
  readonly after: number
  readonly to: number
}

/** Counts of what a resend would send. */
export interface ResendPlan {
  readonly changes: number
  readonly submissions: number
  /** null if no change matches. */
  readonly firstSeq: number | null
  readonly lastSeq: number | null
  /** Changes that already have an outbox row: still to be sent (`waiting`), dead-lettered, or with unknown outcome. */
  readonly waiting: number
  readonly deadLettered: number
  readonly unknown: number
  /** Selected changes that aren't resent, because of the destination's filters (`filtered`) or a purge (`purged`). */
  readonly filtered: number
  readonly purged: number
  /**
   * Number of submissions that changed again after the last resent change. Such a later change isn't resent. Later
   * changes count only if a change of the same submission and table is resent.
   */
  readonly changedSince: number
}

class Tally {
  readonly #submissions = new Set<string>()
  readonly #tables = new Set<string>()
  readonly #overtaken = new Set<string>()
  readonly counts = { changes: 0, waiting: 0, deadLettered: 0, unknown: 0, filtered: 0, purged: 0 }
  #firstSeq: number | null = null
  lastSeq: number | null = null

  get plan(): ResendPlan {
    const [submissions, changedSince] = [this.#submissions.size, this.#overtaken.size]
    return { ...this.counts, submissions, firstSeq: this.#firstSeq, lastSeq: this.lastSeq, changedSince }
  }

  add(rows: readonly NewOutboxRow[]): void {
    for (const row of rows) {
      this.counts.changes += 1
      this.#firstSeq ??= row.seq
      this.lastSeq = row.seq
      this.#submissions.add(submissionOf(row))
      this.#tables.add(`${submissionOf(row)} ${row.entity}`)
    }
  }

  /** Counts the submission of a later change, if rows of the same submission and table are resent. */
  addLater(row: NewOutboxRow): void {
    if (this.#tables.has(`${submissionOf(row)} ${row.entity}`)) this.#overtaken.add(submissionOf(row))
  }
}

function submissionOf({ account, submissionId }: Pick<NewOutboxRow, 'account' | 'submissionId'>): string {
  return `${account} ${submissionId}`
}

/** Counts the rows that `stepResend` would queue. */
export async function planResend(
  q: Query,
  destination: FanOutDestination,
  state: DestinationRow,
  selection: ResendSelection,
  range: ResendRange,
  signal: AbortSignal,
): Promise<ResendPlan> {
  const tally = new Tally()
  for (const { after, to } of windows(range)) {
    signal.throwIfAborted()
    const found = await selectedChanges(q, destination.accounts, selection, after, to)
    const there = await withoutPurged(q, found)
    const rows = await wantedRows(q, destination, state, there, { selection, to: range.to })
    tally.add(rows)
    const { waiting, deadLettered, unknown } = await unsettledAmong(q, destination.name, rows)
    tally.counts.purged += found.length - there.length
    tally.counts.filtered += there.length - rows.length
    tally.counts.waiting += waiting
    tally.counts.deadLettered += deadLettered
    tally.counts.unknown += unknown
  }
  // Counts changes after the end of the selection. An open-ended selection has no end, so there are no such changes.
  const isOpenEnded = selection.until === undefined && selection.seq === undefined
  const rest = { after: tally.lastSeq ?? state.cursor, to: state.cursor }
  for (const { after, to } of isOpenEnded ? [] : windows(rest)) {
    signal.throwIfAborted()
    const { submissionId } = selection
    const later = await selectedChanges(q, destination.accounts, { submissionId }, after, to)
    const rows = await wantedRows(q, destination, state, later, { selection: { submissionId }, to: rest.to })
    for (const row of rows) tally.addLater(row)
  }
  return tally.plan
}

/** A resend in progress. Its audit entry stores the progress, so another process can continue. */
export interface Resend {
  readonly actionId: number
  readonly selection: ResendSelection
  readonly range: ResendRange
  /** Random id, from which the new message ids are made. Null keeps the old ids. */
  readonly newIds: string | null
}

export interface ResendProgress {
  readonly queued: number
  /** All selected changes up to this `seq` are queued. */
  readonly queuedTo: number
}

export function progressOf(detail: ActionDetail): ResendProgress {
  const { queued, queued_to } = detail
  return { queued: typeof queued === 'number' ? queued : 0, queuedTo: typeof queued_to === 'number' ? queued_to : 0 }
}

/**
 * Queues the next selected changes again, behind the rows that are already waiting. Each stream keeps the order of the
 * log. Rows and progress commit together, so a kill never causes duplicates.
 * @returns the progress; null if the resend is no longer in progress.
 */
export async function stepResend(
  db: Db,
  destination: FanOutDestination,
  state: DestinationRow,
  resend: Resend,
  progress: ResendProgress,
): Promise<ResendProgress | null> {
  const { selection, range } = resend
  const after = Math.max(range.after, progress.queuedTo)
  const to = Math.min(range.to, after + WINDOW)
  const found = (await selectedChanges(db.read, destination.accounts, selection, after, to)).slice(0, STEP)
  const end = found.length === STEP ? (found.at(-1)?.seq ?? to) : to
  return await db.write('push-resend', async (tx) => {
    await lockFanOut(tx)
    const detail = await actionInProgress(tx, resend.actionId)
    if (detail === null) return null
    const stored = progressOf(detail)
    // Another process has continued the resend.
    if (Math.max(range.after, stored.queuedTo) !== after) return stored
    const rows = await rowsToQueue(tx, destination, state, found, resend)
    const moved = { queued: stored.queued + rows.length, queuedTo: end }
    await recordProgress(tx, resend.actionId, { ...detail, queued: moved.queued, queued_to: end })
    await queueRows(tx, rows, [])
    return moved
  })
}

async function rowsToQueue(
  tx: Tx,
  destination: FanOutDestination,
  state: DestinationRow,
  found: readonly FanOutChange[],
  { selection, range, newIds }: Resend,
): Promise<NewOutboxRow[]> {
  if (found.length === 0) return []
  const seqs = found.map(({ seq }) => seq)
  const changes = await changesToResend(tx, seqs)
  const rows = await wantedRows(tx, destination, state, await withoutPurged(tx, changes), { selection, to: range.to })
  return rows.map((row) => ({
    ...row,
    messageId: newIds === null ? row.messageId : renewedMessageId(row.messageId, newIds),
    resent: newIds === null ? 'same' : 'new',
    // A resent change is sent even if it arrived before.
    uncertain: false,
  }))
}

/**
 * @returns the rows of changes that pass the destination's current settings. `filter` isn't evaluated again: the stored
 * filter states decide.
 */
async function wantedRows(
  q: Query,
  destination: FanOutDestination,
  state: DestinationRow,
  changes: readonly FanOutChange[],
  selected: { readonly selection: ResendSelection; readonly to: number },
): Promise<NewOutboxRow[]> {
  if (changes.length === 0) return []
  const { log_epoch: logEpoch } = state
  const epochOf = await readEpochs(q)
  if (destination.filter === null) return (await rowsFor(q, [{ ...destination, logEpoch }], changes, epochOf, true)).rows
  const { rows } = await rowsFor(q, [{ ...destination, operations: null, logEpoch }], changes, epochOf, true)
  return await sentAgain(q, destination, state, rows, selected, epochOf)
}

/** Leaves out changes that a purge emptied, and changes of purged submissions. Keeps the purges, to send them again. */
async function withoutPurged(q: Query, changes: readonly ResendChange[]): Promise<ResendChange[]> {
  const keys = submissionKeys(changes.map(({ account, submission_id: submissionId }) => ({ account, submissionId })))
  const purged = await purgedAmong(q, keys)
  const isKept = (change: ResendChange) => !change.isEmptied && !purged.has(`${change.account} ${change.submission_id}`)
  return changes.filter((change) => change.operation === 'purged' || isKept(change))
}

function* windows({ after, to }: ResendRange): Generator<ResendRange> {
  for (let from = after; from < to; from += WINDOW) yield { after: from, to: Math.min(to, from + WINDOW) }
}

/**
 * @returns the rows of a resend to a destination with a `filter`. The filter was evaluated during fan-out and isn't
 * evaluated again. The stored filter states of the records are used instead. If several changes of a record were
 * sent as one complete record, only the newest selected change is resent. Its row has the record's current content and
 * the id of the complete record.
 * @param rows rows of selected changes, in log order, not yet filtered by `operations`.
 * @param selected the selection, and the last `seq` of the resend.
 */
export async function sentAgain(
  q: Query,
  { operations }: FanOutDestination,
  state: DestinationRow,
  rows: readonly NewOutboxRow[],
  selected: { readonly selection: ResendSelection; readonly to: number },
  epochOf: (seq: number) => EpochOfChange,
): Promise<NewOutboxRow[]> {
  const known = await knownAmong(q, state, rows)
  const knownOf = (row: NewOutboxRow) => known.passed.get(passedText(row))
  const contained = rows.filter((row) => isContained(row, knownOf(row)))
  const records = new Map(
    contained.map((row) => [passedText(row), { ...row, upTo: Math.min(knownOf(row)?.through ?? 0, selected.to) }] as const),
  )
  const newest = await newestSelected(q, selected.selection, [...records.values()])
  const presents = await presentRows(q, contained)
  const nowMs = q.clock.now()
  const sent = rows.flatMap((row): NewOutboxRow[] => {
    const of = knownOf(row)
    if (of === undefined || !isContained(row, of)) return changeAgain(row, of)
    const present = presents.get(passedText(row))
    if (present === undefined || newest.get(passedText(row)) !== row.seq) return []
    return [wholeRow({ ...row, seq: of.seq }, present, { isAgain: false, epoch: epochOf(of.seq), nowMs })]
  })
  return sent.filter(({ operation }) => operations?.includes(operation) ?? true)
}

/**
 * @returns whether the change was sent as part of a complete record. False for an insert that was queued as an ordinary
 * change, because the insert was already the complete record.
 */
function isContained({ operation, seq }: NewOutboxRow, known: Passed | undefined): boolean {
  const isAlone = operation === 'insert' && seq === known?.seq && seq === known.through
  return known?.isIn === true && seq <= known.through && !isAlone
}

/**
 * @returns the row for a change that wasn't part of a complete record. If the change made the record stop passing, the
 * row has the mark `leftFilter`. Empty if nothing is sent.
 */
function changeAgain(row: NewOutboxRow, known: Passed | undefined): NewOutboxRow[] {
  if (known === undefined) return []
  if (known.isIn) return [row]
  if (row.seq !== known.seq) return []
  return [row.operation === 'purged' ? row : { ...row, leftFilter: true }]
}
