import type { SubmissionRow } from './entities/submissions.ts'
import type { Entity, Row } from './entity.ts'
import type { Requirements, ViewList } from './records.ts'

/** The result of a state read of one submission. */
export interface View {
  /** Columns of `submissions`; null: the view has none. */
  readonly submission: Partial<SubmissionRow> | null
  /** All lists of one table have the same columns in `of`. Without a list, nothing is concluded about a table. */
  readonly lists: readonly ViewList[]
  /** Items that could not be parsed, as JSON text. */
  readonly unreadable: readonly string[]
}

/** One table in a view. */
export interface TableView {
  readonly rows: readonly Row[]
  /** Whether a stored row belongs to a list of the view, shown or not. */
  covers(row: Row): boolean
  /** Whether a stored row that the view does not show is gone. */
  saysGone(row: Row): boolean
}

/** @returns null when the view has no list of the table or its parent. */
export function tableView(view: View, entity: Entity): TableView | null {
  const own = listIndex(view.lists, entity.table)
  // Rows are gone with their parent; under a parent that is shown, they may be gone by themselves.
  const parents = listIndex(view.lists, entity.parent ?? null)
  if (own === null && parents === null) return null
  const listFor = (row: Row) => own?.(row) ?? parents?.(row) ?? null
  return {
    rows: view.lists.flatMap(({ table, rows }) => (table === entity.table ? rows : [])),
    covers: (row) => listFor(row) !== null,
    saysGone: (row) => listFor(row)?.whole === true,
  }
}

/** @returns a function that finds the list of a row; null when the table has no list. */
function listIndex(all: readonly ViewList[], table: string | null): ((row: Row) => ViewList | null) | null {
  const lists = all.filter((list) => list.table === table)
  const [first] = lists
  if (first === undefined) return null
  const columns = Object.keys(first.of)
  const textOf = (row: Row) => JSON.stringify(columns.map((column) => row[column]))
  const byText = new Map(lists.map((list) => [textOf(list.of), list]))
  return (row) => byText.get(textOf(row)) ?? null
}

/** Tables whose rows exist once markets are matched. */
const OF_MARKETS = new Set(['lanes', 'quote_history', 'market_readiness', 'program_assessments', 'carrier_api_sessions'])

/** The requirements view as lists. A missing rail or an unavailable quote history has none (traps 64, 65). */
export function viewOf({ submission, rail, lists, unreadable }: Requirements): View {
  const all = [...(rail === null ? [] : railLists(rail)), ...lists]
  // While markets are being matched an empty list means "not yet", not "no longer" (trap 62).
  const isMatching = submission.marketing_status === 'matching'
  const hasLanes = rail !== null && rail.lanes.length > 0
  const isNotYet = ({ table, rows }: ViewList) => isMatching && OF_MARKETS.has(table) && (rows.length === 0 || !hasLanes)
  return {
    submission,
    lists: all.map((list) => (isNotYet(list) ? { ...list, whole: false } : list)),
    unreadable: [...(rail?.unreadable ?? []), ...unreadable],
  }
}

function railLists(rail: NonNullable<Requirements['rail']>): ViewList[] {
  const of = {}
  const lists: ViewList[] = [
    { table: 'lanes', of, rows: rail.lanes.map(({ lane }) => lane), whole: rail.whole.lanes },
    ...rail.lanes.flatMap(({ lane, quotes, sourceOffers, whole }): ViewList[] => {
      const of = { lane_id: lane.lane_id }
      return [
        { table: 'quotes', of, rows: quotes.map((quote) => ({ ...quote, ...of })), whole: whole.quotes },
        { table: 'source_offers', of, rows: sourceOffers.map((offer) => ({ ...offer, ...of })), whole: whole.sourceOffers },
      ]
    }),
  ]
  if (rail.quoteHistory !== null) lists.push({ table: 'quote_history', of, rows: rail.quoteHistory, whole: rail.whole.quoteHistory })
  return lists
}
