/** A record of a CSV. */
export interface CsvRecord {
  /** The line on which it begins, from 1. */
  readonly line: number
  readonly cells: readonly string[]
  /** What is wrong with it, so that its cells are not what was meant; null when nothing is. */
  readonly problem: string | null
}

/**
 * The records of a CSV, the heading first; what separates its cells (comma, semicolon or tab) separates all others. A cell whose first
 * letter is a quote may hold separators, line breaks and doubled quotes; elsewhere a quote is a letter like any other. Spaces around cells
 * are taken away. Empty lines between records, and those that begin with `#`, are passed over.
 *
 * csv-parse was tried: it passes over what follows a broken record, so that not all that is wrong can be told at once, and takes a gigabyte
 * for a million rows.
 */
export function* recordsOf(text: string): Generator<CsvRecord, undefined> {
  const lines = linesOf(text)
  let separator: string | null = null
  for (let index = 0; index < lines.length; index++) {
    const begun = index
    if (isPassedOver(lines[index] ?? '')) continue
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

/** @returns the lines of a file, without the mark that some programs put before the first. */
export function linesOf(text: string): string[] {
  return text.replace(/^\uFEFF/, '').split(/\r\n|\n|\r/)
}

/** Whether a line says nothing. */
export function isPassedOver(line: string): boolean {
  const begin = line.trimStart()
  return begin === '' || begin.startsWith('#')
}

function separatorIn(heading: string): string {
  return [',', ';', '\t'].find((each) => heading.includes(each)) ?? ','
}

/**
 * Reads on in a record.
 * @param cells those of it up to here; the last one goes on.
 * @param quoted whether that one is a quoted one.
 * @returns whether the last one is quoted at the end of the line, so that the next line belongs to it.
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
