import { parseUuid } from '../../model/uuid.ts'
import { isPassedOver, linesOf, recordsOf } from '../output/csv.ts'

const COLUMN = 'submission_id'

/** The distinct ids of a file, in its order, and a line for each entry that is no id. */
export interface IdFile {
  readonly ids: readonly string[]
  readonly problems: readonly string[]
}

/** An entry that should be an id, and the line on which it, or its row, begins. */
interface Entry {
  readonly line: number
  readonly text: string
  readonly problem: string | null
}

/**
 * Reads submission ids: one per line, or a CSV (comma, semicolon or tab) whose first line names a column `submission_id`. Empty lines and
 * lines that begin with `#` are skipped.
 * @param name of the file, for the problems.
 */
export function readIdFile(text: string, name: string): IdFile {
  const ids = new Set<string>()
  const problems: string[] = []
  const records = recordsOf(text)
  const heading = records.next().value?.cells ?? []
  const column = heading.findIndex((cell) => cell.toLowerCase() === COLUMN)
  if (column < 0 && heading.length > 1) return { ids: [], problems: [`${name}: the first line must name a column ${COLUMN}`] }
  for (const { line, text: entry, problem } of column < 0 ? entriesOfLines(text) : entriesOfColumn(records, column)) {
    const id = problem === null ? parseUuid(entry) : null
    if (id !== null) ids.add(id)
    else problems.push(`${name}, line ${line}: ${problem ?? `${JSON.stringify(entry.slice(0, 80))} is no submission id (a uuid)`}`)
  }
  return { ids: [...ids], problems }
}

function* entriesOfLines(text: string): Generator<Entry> {
  for (const [index, line] of linesOf(text).entries()) {
    if (!isPassedOver(line)) yield { line: index + 1, text: line.trim(), problem: null }
  }
}

function* entriesOfColumn(records: ReturnType<typeof recordsOf>, column: number): Generator<Entry> {
  for (const { line, cells, problem } of records) yield { line, text: cells[column] ?? '', problem }
}
