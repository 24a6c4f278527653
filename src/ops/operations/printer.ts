import { type Column, tableOf } from '../output/columns.ts'
import { table } from '../output/table.ts'
import { wrapped } from '../output/text.ts'

/** Prints command output for a person. */
export interface Printer {
  /** Current time in ms since the epoch, for printing ages. */
  readonly now: number
  /** Characters per line. */
  readonly width: number
  line(text: string): void
  /** Writes text without adding a line end. */
  text(text: string): void
  /** Writes a sentence, wrapped to `width`. */
  sentence(text: string): void
  /** Writes a table. @param none line to write if there are no rows. */
  rows<Row extends object>(title: string, rows: readonly Row[], columns: readonly Column<Row>[], none: string): void
}

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
