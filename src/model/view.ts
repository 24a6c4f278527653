import type { SubmissionRow } from './entities/submissions.ts'
import type { Entity, Row } from './entity.ts'
import type { Reported, Requirements, ViewList } from './records.ts'

/** What a read of the state says of a submission now. */
export interface View {
  /** Columns of `submissions`; null: the view tells none. */
  readonly submission: Reported<Partial<SubmissionRow>, 'raw'> | null
  /** Of each table either no list, of which nothing is concluded, or lists whose `of` have the same columns. */
  readonly lists: readonly ViewList[]
  /** Items that could not be read, as JSON text. */
  readonly unreadable: readonly string[]
}

/** What a view shows of one table. */
export interface Shown {
  readonly rows: readonly Row[]
  /** Whether the view speaks of a stored row, be it by not showing it. */
  covers(row: Row): boolean
  /** Whether the view, not showing a stored row, says that it is gone. */
  saysGone(row: Row): boolean
}

/** @returns null when the view does not speak of the table. */
export function shownOf(view: View, entity: Entity): Shown | null {
  const own = index(view.lists, entity.table)
  // What hangs on a row that is gone is gone with it; what hangs on one that is shown may be gone by itself.
  const above = index(view.lists, entity.parent ?? null)
  if (own === null && above === null) return null
  const listFor = (row: Row) => own?.(row) ?? above?.(row) ?? null
  return {
    rows: view.lists.flatMap(({ table, rows }) => (table === entity.table ? rows : [])),
    covers: (row) => listFor(row) !== null,
    saysGone: (row) => listFor(row)?.whole === true,
  }
}

/** @returns a function that finds the list to which a row belongs; null when there is no list of the table. */
function index(all: readonly ViewList[], table: string | null): ((row: Row) => ViewList | null) | null {
  const lists = all.filter((list) => list.table === table)
  const [first] = lists
  if (first === undefined) return null
  const columns = Object.keys(first.of)
  const textOf = (row: Row) => JSON.stringify(columns.map((column) => row[column]))
  const byText = new Map(lists.map((list) => [textOf(list.of), list]))
  return (row) => byText.get(textOf(row)) ?? null
}

/** The requirements view, list by list. Of a rail that it says nothing of it has none (trap 64), nor of a history that it cannot give (65). */
export function viewOf({ submission, rail, lists }: Requirements): View {
  if (rail === null) return { submission, lists, unreadable: [] }
  // While markets are being matched an empty list means "not yet", not "no longer" (trap 62).
  const isMatching = submission.marketing_status === 'matching' && rail.lanes.length === 0
  const of = {}
  const found: ViewList[] = [
    { table: 'lanes', of, rows: rail.lanes.map(({ lane }) => lane), whole: rail.whole.lanes && !isMatching },
    ...rail.lanes.flatMap(({ lane, quotes, sourceOffers, whole }): ViewList[] => {
      const of = { lane_id: lane.lane_id }
      return [
        { table: 'quotes', of, rows: quotes.map((quote) => ({ ...quote, ...of })), whole: whole.quotes },
        { table: 'source_offers', of, rows: sourceOffers.map((offer) => ({ ...offer, ...of })), whole: whole.sourceOffers },
      ]
    }),
  ]
  if (rail.quoteHistory !== null) {
    found.push({ table: 'quote_history', of, rows: rail.quoteHistory, whole: rail.whole.quoteHistory && !isMatching })
  }
  return { submission, lists: [...found, ...lists], unreadable: rail.unreadable }
}
