import { type Column, tableOf } from '../output/columns.ts'
import { table } from '../output/table.ts'
import { wrapped } from '../output/text.ts'

/** Where a command prints for a person. */
export interface Printer {
  /** Milliseconds since the epoch, for what is told as an age. */
  readonly now: number
  /** Columns that a line may take. */
  readonly width: number
  /** Writes a line. */
  line(text: string): void
  /** Writes what has its line ends already. */
  text(text: string): void
  /** Writes a sentence, in lines that the terminal is wide enough for. */
  sentence(text: string): void
  /** Writes rows as a table. @param none the line in its place when there are none. */
  rows<Row extends object>(title: string, rows: readonly Row[], columns: readonly Column<Row>[], none: string): void
}

/** @param width columns that a line may take. */
export function printerTo(write: (text: string) => unknown, now: number, width: number): Printer {
  return {
    now,
    width,
    text: (text) => void write(text),
    line: (text) => void write(`${text}\n`),
    sentence: (text) => void write(wrapped(text, width)),
    rows: (title, rows, columns, none) =>
      void write(rows.length === 0 ? `${none}\n` : table({ ...tableOf(title, rows, columns, now), width })),
  }
}
