import { readEpochs } from '../../store/changes/log-epoch.ts'
import type { Db, Query, Tx } from '../../store/engine/db.ts'
import { type ActionDetail, actionInProgress, noteProgress } from '../../store/operators/actions.ts'
import type { DestinationRow } from '../../store/outbox/destinations.ts'
import { type FanOutChange, lockFanOut, type NewOutboxRow, queueRows } from '../../store/outbox/fan-out.ts'
import { changesToResend, type ResendChange, type ResendSelection, selectedChanges, unsettledAmong } from '../../store/outbox/resend.ts'
import { purgedAmong } from '../../store/reads/purged.ts'
import { renewedMessageId } from '../contract/message-id.ts'
import { type FanOutDestination, rowsFor } from './queued-rows.ts'
import { sentAgain } from './sent-again.ts'

/** Changes of the log that one look goes through. */
const WINDOW = 5_000
/** Rows that one transaction queues. */
const STEP = 200

/** Where in the log a resend begins and ends: behind `after`, up to `to`. */
export interface ResendRange {
  readonly after: number
  readonly to: number
}

/** What a resend would send. */
export interface ResendPlan {
  readonly changes: number
  readonly submissions: number
  /** Numbers of the first and the last; null when there is none. */
  readonly firstSeq: number | null
  readonly lastSeq: number | null
  /** Of them, those whose earlier row has not gone yet, and those that were given up. */
  readonly waiting: number
  readonly givenUp: number
  /** Selected, but left out: by the filters of the destination, and because their submission was purged. */
  readonly filtered: number
  readonly purged: number
  /** Submissions that later changes concern, which are not among those sent again. */
  readonly changedSince: number
}

/** Which submissions and tables a plan has met, and the counts of it. */
class Tally {
  readonly submissions = new Set<string>()
  readonly #tables = new Set<string>()
  changes = 0
  filtered = 0
  purged = 0
  waiting = 0
  givenUp = 0
  firstSeq: number | null = null
  lastSeq: number | null = null

  add(rows: readonly NewOutboxRow[]): void {
    for (const row of rows) {
      this.changes += 1
      this.firstSeq ??= row.seq
      this.lastSeq = row.seq
      this.submissions.add(laneOf(row.account, row.submissionId))
      this.#tables.add(`${laneOf(row.account, row.submissionId)} ${row.entity}`)
    }
  }

  /** The submission of a later change, when rows of the same table of it are sent again. */
  overtakenBy({ account, submissionId, entity }: NewOutboxRow): string | null {
    const lane = laneOf(account, submissionId)
    return this.#tables.has(`${lane} ${entity}`) ? lane : null
  }
}

function laneOf(account: string, submissionId: string | null): string {
  return `${account} ${submissionId ?? ''}`
}

/** Counts what `stepResend` would queue. @param signal stops it. */
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
    tally.purged += found.length - there.length
    tally.filtered += there.length - rows.length
    const { waiting, givenUp } = await unsettledAmong(q, destination.name, rows)
    tally.waiting += waiting
    tally.givenUp += givenUp
  }
  const overtaken = new Set<string>()
  // What the selection leaves out at its end; with an open end there is nothing.
  const isOpenEnded = selection.until === undefined && selection.seq === undefined
  const rest = { after: tally.lastSeq ?? state.cursor, to: state.cursor }
  for (const { after, to } of isOpenEnded ? [] : windows(rest)) {
    signal.throwIfAborted()
    const { submissionId } = selection
    const later = await selectedChanges(q, destination.accounts, { submissionId }, after, to)
    for (const row of await wantedRows(q, destination, state, later, { selection: { submissionId }, to: rest.to }))
      overtaken.add(tally.overtakenBy(row) ?? '')
  }
  overtaken.delete('')
  const { changes, submissions, filtered, purged, waiting, givenUp, firstSeq, lastSeq } = tally
  return {
    changes,
    submissions: submissions.size,
    firstSeq,
    lastSeq,
    waiting,
    givenUp,
    filtered,
    purged,
    changedSince: overtaken.size,
  }
}

/** A resend that has begun. Its progress stands in its audit entry, so that another process can go on with it. */
export interface Resend {
  readonly actionId: number
  readonly selection: ResendSelection
  readonly range: ResendRange
  /** Makes new message ids; null keeps the ids. */
  readonly newIds: string | null
}

/** What the audit entry says of the progress. */
export interface ResendProgress {
  readonly queued: number
  /** Everything up to here is queued. */
  readonly queuedTo: number
}

export function progressOf(detail: ActionDetail): ResendProgress {
  const { queued, queued_to } = detail
  return { queued: typeof queued === 'number' ? queued : 0, queuedTo: typeof queued_to === 'number' ? queued_to : 0 }
}

/**
 * Queues the next changes again, behind what waits, each lane in the order of the log. The rows and how far it has come commit together:
 * a kill leaves a change queued or not, and whoever goes on queues none of them twice.
 * @returns the progress; null when somebody else has brought it to its end.
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
    // Another process has gone on with it meanwhile.
    if (Math.max(range.after, stored.queuedTo) !== after) return stored
    const rows = await rowsToQueue(tx, destination, state, found, resend)
    const moved = { queued: stored.queued + rows.length, queuedTo: end }
    await noteProgress(tx, resend.actionId, { ...detail, queued: moved.queued, queued_to: end })
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
  const changes = await changesToResend(
    tx,
    found.map(({ seq }) => seq),
  )
  const rows = await wantedRows(tx, destination, state, await withoutPurged(tx, changes), { selection, to: range.to })
  return rows.map((row) => ({
    ...row,
    messageId: newIds === null ? row.messageId : renewedMessageId(row.messageId, newIds),
    resent: newIds === null ? 'same' : 'new',
    // It is meant to arrive once more, whatever arrived before.
    uncertain: false,
  }))
}

/** The rows of changes that the destination wants, by its filters as they are now; by content, as its `filter` judged them last. */
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

/** Leaves out what must not be sent any more, and what a purge has emptied. That a submission was purged may be told again. */
async function withoutPurged(q: Query, changes: readonly ResendChange[]): Promise<ResendChange[]> {
  const named = new Map(
    changes.flatMap(({ account, submission_id }) =>
      submission_id === null ? [] : [[laneOf(account, submission_id), { account, submission_id }] as const],
    ),
  )
  const purged = await purgedAmong(q, [...named.values()])
  return changes.filter(
    ({ account, submission_id, operation, isEmptied }) =>
      operation === 'purged' || (!isEmptied && !purged.has(laneOf(account, submission_id))),
  )
}

function* windows({ after, to }: ResendRange): Generator<ResendRange> {
  for (let from = after; from < to; from += WINDOW) yield { after: from, to: Math.min(to, from + WINDOW) }
}
