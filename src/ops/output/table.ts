import { printableLine } from './text.ts'

/** Longer than the program's own sentences with two ids in them, and than the key of a quote: what is cut there comes from others. */
const LONGEST_CELL = 240

/** A value of a table's cell; null and undefined are shown as `-`. */
export type Cell = string | number | null | undefined

/**
 * @returns the rows below their headings, columns aligned by spaces (numbers to the right), each line ended. Without rows only the
 * headings.
 */
export function table(headings: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const texts = rows.map((row) => headings.map((_, column) => cellText(row[column])))
  const widths = headings.map((heading, column) => Math.max(heading.length, ...texts.map((row) => row[column]?.length ?? 0)))
  const right = headings.map((_, column) => rows.length > 0 && rows.every((row) => typeof row[column] === 'number' || row[column] == null))
  const line = (cells: readonly string[]) =>
    `${cells
      .map((cell, column) => (right[column] ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0)))
      .join('  ')
      .trimEnd()}\n`
  return [headings, ...texts].map(line).join('')
}

function cellText(cell: Cell): string {
  if (cell === null || cell === undefined || cell === '') return '-'
  return typeof cell === 'number' ? String(cell) : printableLine(cell, LONGEST_CELL)
}
