export interface CsvRecord {
  /** Number of the record's first line, from 1. */
  readonly line: number
  readonly cells: readonly string[]
  /** Why the cells can't be used; null if the cells are valid. */
  readonly problem: string | null
}

/**
 * Parses a CSV.
 * - The separator is a comma, semicolon or tab. The heading determines the separator of the whole file.
 * - A cell that starts with a quote may contain separators, line breaks and doubled quotes.
 * - In other cells, quotes are plain text.
 * - Cells are trimmed. Empty lines between records, and lines that start with `#`, are skipped.
 *
 * The library csv-parse is not used: it skips text after a broken record, so that not all problems could be reported.
 * It also needs a gigabyte of memory for a million rows.
 * @returns the records, starting with the heading.
 */
export function* recordsOf(text: string): Generator<CsvRecord, undefined> {
  const lines = linesOf(text)
  let separator: string | null = null
  for (let index = 0; index < lines.length; index++) {
    const begun = index
    if (isSkippedLine(lines[index] ?? '')) continue
    separator ??= separatorIn(lines[index] ?? '')
    const cells = ['']
    let quoted = addCells(cells, lines[index] ?? '', separator, false)
    while (quoted && index + 1 < lines.length) {
      index += 1
      quoted = addCells(cells, `\n${lines[index]}`, separator, true)
    }
    yield { line: begun + 1, cells: cells.map((cell) => cell.trim()), problem: quoted ? 'a quoted cell has no closing quote' : null }
  }
}

/** @returns the lines of a text, without a byte order mark. */
export function linesOf(text: string): string[] {
  return text.replace(/^\uFEFF/, '').split(/\r\n|\n|\r/)
}

export function isSkippedLine(line: string): boolean {
  const begin = line.trimStart()
  return begin === '' || begin.startsWith('#')
}

function separatorIn(heading: string): string {
  return [',', ';', '\t'].find((each) => heading.includes(each)) ?? ','
}

/**
 * Adds the cells of a line to a record.
 * @param cells cells so far. The line continues the last cell.
 * @param quoted true if the last cell is in quotes.
 * @returns true if a quoted cell continues on the next line.
 */
function addCells(cells: string[], line: string, separator: string, quoted: boolean): boolean {
  let cell = cells.pop() ?? ''
  for (let i = 0; i < line.length; i++) {
    const character = line.charAt(i)
    if (character === '"' && quoted && line[i + 1] === '"') {
      cell += '"'
      i += 1
    } else if (character === '"' && (quoted || cell.trim() === '')) quoted = !quoted
    else if (character === separator && !quoted) {
      cells.push(cell)
      cell = ''
    } else cell += character
  }
  cells.push(cell)
  return quoted
}
