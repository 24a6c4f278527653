import type { EpochOfChange } from '../../store/changes/log-epoch.ts'
import type { Query } from '../../store/engine/db.ts'
import type { DestinationRow } from '../../store/outbox/destinations.ts'
import type { NewOutboxRow } from '../../store/outbox/fan-out.ts'
import { knownAmong, type Passed, passedText } from '../../store/outbox/passed.ts'
import { presentRows } from '../../store/outbox/present-rows.ts'
import { newestSelected, type ResendSelection } from '../../store/outbox/resend.ts'
import { type FanOutDestination, wholeRow } from './queued-rows.ts'

/**
 * What a destination with a `filter` is sent again of changes: what it was sent of them, by what is known of their records. The filter itself
 * is not asked: it judged them when they were fanned out. Of the changes that a whole row contained, the newest is the record whole, as it is
 * now, under the same id.
 * @param rows of selected changes of the log, in order, whatever their operation: a step of all that are.
 * @param selected which changes are, up to a number.
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

/** Whether a change went out within the whole record. An insert that was sent as it is contained nothing but itself. */
function isContained({ operation, seq }: NewOutboxRow, known: Passed | undefined): boolean {
  const isAlone = operation === 'insert' && seq === known?.seq && seq === known.through
  return known?.isIn === true && seq <= known.through && !isAlone
}

/** A change that was not contained: it was sent as it is, or with it the record ceased to pass, or it was not sent. */
function changeAgain(row: NewOutboxRow, known: Passed | undefined): NewOutboxRow[] {
  if (known === undefined) return []
  if (known.isIn) return [row]
  if (row.seq !== known.seq) return []
  return [row.operation === 'purged' ? row : { ...row, leftFilter: true }]
}
