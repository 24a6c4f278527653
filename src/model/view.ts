import type { Entity, Row } from './entity.ts'
import type { ViewList } from './records.ts'

/** The result of a state read of one submission. */
export interface View {
  /** Columns of `submissions`; null if the view has none. */
  readonly submission: Row | null
  /** All lists of one table have the same columns in `of`. A table without a list stays unchanged. */
  readonly lists: readonly ViewList[]
  /** Items that could not be parsed, as JSON text. */
  readonly unreadable: readonly string[]
  /** The submission named by a record that was read by id. Overrides the submission that the id was learned from. */
  readonly ownSubmissionId?: string | null
}

/** The parts of a requirements view that an answer may omit, and the tables of their rows. */
export const viewParts = {
  rail: ['lanes', 'quotes', 'source_offers'],
  quote_history: ['quote_history'],
  assessment: ['program_assessments', 'requirement_items'],
} as const
export type ViewPart = keyof typeof viewParts

/** @returns the parts in the view, except empty parts that aren't ready yet (trap 62). */
export function partsShown({ lists }: View): ViewPart[] {
  const names = Object.keys(viewParts) as ViewPart[]
  return names.filter((part) => lists.some(({ table, rows, whole }) => table === viewParts[part][0] && (whole || rows.length > 0)))
}

/** One table in a view. */
export interface TableView {
  readonly rows: readonly Row[]
  /** Whether one of the view's lists should contain this stored row. */
  covers(row: Row): boolean
  /** Whether a stored row that is missing from the view counts as gone. */
  saysGone(row: Row): boolean
}

/** @returns null if the view has no list of the table or its parent. */
export function tableView(view: View, entity: Entity): TableView | null {
  const own = listIndex(view.lists, entity.table)
  // Rows are gone with their parent; under a shown parent, single rows may be gone.
  const parents = listIndex(view.lists, entity.parent ?? null)
  if (own === null && parents === null) return null
  const listFor = (row: Row) => own?.(row) ?? parents?.(row) ?? null
  return {
    rows: view.lists.flatMap(({ table, rows }) => (table === entity.table ? rows : [])),
    covers: (row) => listFor(row) !== null,
    saysGone: (row) => listFor(row)?.whole === true,
  }
}

/** @returns a function that finds the list of a row; null if the table has no list. */
function listIndex(all: readonly ViewList[], table: string | null): ((row: Row) => ViewList | null) | null {
  const lists = all.filter((list) => list.table === table)
  const [first] = lists
  if (first === undefined) return null
  const columns = Object.keys(first.of)
  const textOf = (row: Row) => JSON.stringify(columns.map((column) => row[column]))
  const byText = new Map(lists.map((list) => [textOf(list.of), list]))
  return (row) => byText.get(textOf(row)) ?? null
}
