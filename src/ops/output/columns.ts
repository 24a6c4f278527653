import type { TimeText } from '../../model/time.ts'
import type { Cell, Heading, Table } from './table.ts'
import { when } from './text.ts'
import { wordOf } from './words.ts'

/**
 * A column of a table: the name of a field; or a heading and a function that returns the cell of a row.
 * `fit`: see `Heading`.
 */
export type Column<Row> =
  | (keyof Row & string)
  | readonly [heading: string, value: (row: Row, nowMs: number) => Cell, fit?: 'whole' | 'below']

/** `fit` of fields that must not be shortened: sentences, and ids that the user copies into the next command. */
const FITS: Readonly<Record<string, 'whole' | 'below'>> = Object.fromEntries([
  ...['detail', 'error', 'how_to_provide', 'path', 'reason', 'text'].map((field) => [field, 'below']),
  ['run_id', 'whole'],
])
const STATES = ['chip', 'kind', 'known_via', 'outcome', 'stage', 'state']
/** Fields with the time of a next attempt. A past time is shown as `due 5 min ago`. */
const NEXT_ATTEMPTS = ['next_try_at', 'retry_at']
const TIME = /^(at|since|until)$|_(at|since|until)$/

/** @returns the rows as a `Table`. @param nowMs current time in ms since the epoch, for ages. */
export function tableOf<Row extends object>(title: string, rows: readonly Row[], columns: readonly Column<Row>[], nowMs: number): Table {
  return {
    title,
    headings: columns.map(headingOf),
    rows: rows.map((row) =>
      columns.map((column) => (typeof column === 'string' ? cellOf(column, row[column], nowMs) : column[1](row, nowMs))),
    ),
  }
}

function dueText(time: TimeText, nowMs: number): string {
  const text = when(time, nowMs)
  return text.endsWith('ago') ? `due ${text}` : text
}

function headingOf(column: string | readonly [heading: string, value: unknown, fit?: 'whole' | 'below']): Heading {
  const [heading, fit] = typeof column === 'string' ? [wordOf(column), FITS[column]] : [column[0], column[2]]
  return fit === undefined ? heading : { heading, fit }
}

function cellOf(field: string, value: unknown, nowMs: number): Cell {
  if (value === null || value === undefined) return null
  if (NEXT_ATTEMPTS.includes(field)) return dueText(value as TimeText, nowMs)
  if (TIME.test(field)) return when(value as TimeText, nowMs)
  if (STATES.includes(field)) return wordOf(String(value))
  if (typeof value === 'object') return Object.keys(value).length === 0 ? null : JSON.stringify(value)
  return typeof value === 'number' ? value : String(value)
}
