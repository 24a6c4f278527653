import type { DestinationConfig } from '../../config/config.ts'
import { type EpochOfChange, readEpochs } from '../../store/changes/log-epoch.ts'
import type { Query } from '../../store/engine/db.ts'
import { findDestination } from '../../store/outbox/destinations.ts'
import type { NewOutboxRow } from '../../store/outbox/fan-out.ts'
import { knownAmong, passedText } from '../../store/outbox/passed.ts'
import { changesToPreview } from '../../store/outbox/resend.ts'
import { ID_NOT_KNOWN, rowsAsSent } from '../../store/outbox/rows.ts'
import type { PushItem } from '../contract/delivery.ts'
import { ContentFilter, type JudgedRow, judgeRows } from '../queue/judge.ts'
import { rowsFor, wholeRow } from '../queue/queued-rows.ts'
import { itemMaker, notSentReason } from './item.ts'

/** Only this many of a submission's newest changes are searched. */
const LOOKED = 500

const FILTERED = 'not sent: the filters of the destination exclude it'

/** A change as it would be sent to a destination now. */
export interface PreviewedChange {
  readonly item: PushItem
  /** Why the change isn't sent. Null if the change would be sent, or if the `filter` failed (see `error`). */
  readonly notSent: string | null
  /** Error of the `filter`; null if the filter gave a result. */
  readonly error: string | null
}

/**
 * Shows what a destination would get for one change, or for a submission's newest changes. Shows changes even if they
 * were sent before. Queues nothing.
 * @param which the `seq` of the change, or the submission.
 * @param limit maximum number of changes to show.
 * @throws TransientError if the `filter` can't be evaluated now.
 */
export async function previewChanges(
  q: Query,
  destination: DestinationConfig,
  which: { readonly seq?: number | undefined; readonly submissionId?: string | undefined },
  limit: number,
): Promise<PreviewedChange[]> {
  const looked = await changesToPreview(q, destination.accounts, which, LOOKED)
  const epochs = await readEpochs(q)
  const everything = { ...destination, entities: null, operations: null, eventTypes: null, maxAgeMs: null, backfill: true, logEpoch: '' }
  const wanted = await rowsFor(q, [{ ...destination, logEpoch: '' }], looked, epochs, true)
  // A single change is shown even if the settings leave it out. `notSent` then explains why the change never arrived.
  const { rows } = which.seq === undefined ? wanted : await rowsFor(q, [everything], looked, epochs, true)
  const passing = new Set(wanted.rows.map(({ seq }) => seq))
  const emptied = new Set(looked.filter(({ isEmptied }) => isEmptied).map(({ seq }) => seq))
  const shown = await byContent(q, destination, rows.slice(-limit), epochs)
  const shownRows = shown.map(({ row }) => row)
  const items = (await rowsAsSent(q, shownRows, destination.name)).map(itemMaker(destination))
  return items.map((item, place) => {
    const { of = item.seq, notSent = null, error = null } = shown[place] ?? {}
    if (emptied.has(of)) return { item, error: null, notSent: 'not sent: a purge removed its values' }
    if (!passing.has(of)) return { item, error: null, notSent: FILTERED }
    const reason = notSent ?? notSentReason(destination, item, false)
    // If a record stops passing the filter and its id at the target is unknown, shows the filter as the reason.
    return { item, error, notSent: error !== null ? null : item.leftFilter && reason === ID_NOT_KNOWN ? FILTERED : reason }
  })
}

/** An outbox row as it would be sent for one change. `of` is the `seq` of this change. */
interface ShownRow {
  readonly row: NewOutboxRow
  readonly of: number
  readonly notSent: string | null
  readonly error: string | null
}

/** Applies the destination's `filter`, if it has one. */
async function byContent(
  q: Query,
  { name, filter: expression }: DestinationConfig,
  rows: readonly NewOutboxRow[],
  epochOf: (seq: number) => EpochOfChange,
): Promise<ShownRow[]> {
  const plain = (row: NewOutboxRow): ShownRow => ({ row, of: row.seq, notSent: null, error: null })
  if (expression === null) return rows.map(plain)
  const state = (await findDestination(q, name)) ?? { destination: name, cursor: 0, filtered_from: 0 }
  const { passed } = await knownAmong(q, state, rows)
  const filter = new ContentFilter(expression)
  const asSent = ({ row, passes, present }: JudgedRow): ShownRow => {
    const isIn = passed.get(passedText(row))?.isIn === true
    if (!passes) return isIn ? { ...plain(row), row: { ...row, leftFilter: true } } : { ...plain(row), notSent: FILTERED }
    if (isIn || row.operation === 'insert' || present === null) return plain(row)
    return { ...plain(row), row: wholeRow(row, present, { isAgain: false, epoch: epochOf(row.seq), nowMs: q.clock.now() }) }
  }
  const shown: ShownRow[] = []
  try {
    for (const row of rows) {
      const { judged, failed } = await judgeRows(q, filter, [row])
      shown.push(...judged.map(asSent))
      if (failed !== null) shown.push({ ...plain(row), error: failed.problem })
    }
  } finally {
    filter.close()
  }
  return shown
}
