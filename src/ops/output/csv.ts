export interface CsvRecord {
  /** First line, from 1. */
  readonly line: number
  readonly cells: readonly string[]
  /** Why the cells are unusable; null if valid. */
  readonly problem: string | null
}

/**
 * @returns the records of a CSV, starting with the heading. The heading's separator (comma, semicolon or tab) applies to all. A cell that
 * starts with a quote may contain separators, line breaks and doubled quotes; other quotes are plain text. Trims cells. Skips empty lines
 * between records, and lines that start with `#`.
 *
 * csv-parse skips text after a broken record, so it can't report all problems. It needs a gigabyte for a million rows.
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
    yield { line: begun + 1, cells: cells.map((cell) => cell.trim()), problem: quoted ? 'a quoted cell begins and never ends' : null }
  }
}

/** @returns the lines of a file, without a byte order mark. */
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
 * Continues a record with a line.
 * @param cells cells read so far; the line continues the last one.
 * @param quoted whether the last cell is quoted.
 * @returns whether a quoted cell continues on the next line.
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
