import type { Entity, Row } from './entity.ts'
import type { ViewList } from './records.ts'

/** Result of a state read of one submission. */
export interface View {
  /** Columns of the table `submissions`; null if the view has none. */
  readonly submission: Row | null
  /** If several lists belong to one table, their `of` has the same columns. Tables without a list stay unchanged. */
  readonly lists: readonly ViewList[]
  /** Items that can't be parsed, as JSON text. */
  readonly unreadable: readonly string[]
  /** For a read by id: the submission that the record names. Replaces the submission that the id was learned from. */
  readonly ownSubmissionId?: string | null
}

/** Parts of a requirements view that an answer may omit. For each part: the tables of its rows. */
export const viewParts = {
  rail: ['lanes', 'quotes', 'source_offers'],
  quote_history: ['quote_history'],
  assessment: ['program_assessments', 'requirement_items'],
} as const
export type ViewPart = keyof typeof viewParts

/** @returns the parts that the view contains. Excludes empty parts that the service hasn't prepared yet (trap 62). */
export function partsShown({ lists }: View): ViewPart[] {
  const names = Object.keys(viewParts) as ViewPart[]
  return names.filter((part) => lists.some(({ table, rows, whole }) => table === viewParts[part][0] && (whole || rows.length > 0)))
}

/** The rows of one table in a view. */
export interface TableView {
  readonly rows: readonly Row[]
  /** True if the view has a list that could contain this stored row. */
  covers(row: Row): boolean
  /** True if this stored row counts as gone when the view doesn't contain it. */
  saysGone(row: Row): boolean
}

/** @returns the view's rows of a table; null if the view has no list of the table or of its parent table. */
export function tableView(view: View, entity: Entity): TableView | null {
  const own = listIndex(view.lists, entity.table)
  // If the view has no list for a row, the list of its parent row decides: if the parent row is gone, the row
  // is gone too.
  const parents = listIndex(view.lists, entity.parent ?? null)
  if (own === null && parents === null) return null
  const listFor = (row: Row) => own?.(row) ?? parents?.(row) ?? null
  return {
    rows: view.lists.flatMap(({ table, rows }) => (table === entity.table ? rows : [])),
    covers: (row) => listFor(row) !== null,
    saysGone: (row) => listFor(row)?.whole === true,
  }
}

/** @returns a function that finds the list that a row belongs to; null if the table has no list. */
function listIndex(all: readonly ViewList[], table: string | null): ((row: Row) => ViewList | null) | null {
  const lists = all.filter((list) => list.table === table)
  const [first] = lists
  if (first === undefined) return null
  const columns = Object.keys(first.of)
  const textOf = (row: Row) => JSON.stringify(columns.map((column) => row[column]))
  const byText = new Map(lists.map((list) => [textOf(list.of), list]))
  return (row) => byText.get(textOf(row)) ?? null
}
