import { parseUuid } from '../model/uuid.ts'
import { cellsOf, separatorIn } from './csv.ts'

const COLUMN = 'submission_id'

/** The ids in a file, each once, in their order, and a line for each entry that is none. */
export interface IdFile {
  readonly ids: readonly string[]
  readonly problems: readonly string[]
}

/**
 * Reads submission ids: one in each line, or a CSV (comma, semicolon or tab) whose first line names a column `submission_id`. Empty lines
 * and those that begin with `#` are passed over.
 * @param name of the file, for the problems.
 */
export function readIdFile(text: string, name: string): IdFile {
  const ids = new Set<string>()
  const problems: string[] = []
  let column: number | null = null
  let separator = ','
  let first = true
  for (const [index, whole] of text
    .replace(/^\uFEFF/, '')
    .split(/\r\n|\n|\r/)
    .entries()) {
    const line = whole.trim()
    if (line === '' || line.startsWith('#')) continue
    if (first) {
      first = false
      separator = separatorIn(line)
      const heading = cellsOf(line, separator).findIndex((cell) => cell.toLowerCase() === COLUMN)
      if (heading >= 0) {
        column = heading
        continue
      }
    }
    const entry = column === null ? line : (cellsOf(whole, separator)[column] ?? '')
    const id = parseUuid(entry)
    if (id === null) problems.push(`${name}, line ${index + 1}: ${JSON.stringify(entry.slice(0, 80))} is no submission id (a uuid)`)
    else ids.add(id)
  }
  return { ids: [...ids], problems }
}
