import { stringify } from 'csv-stringify/sync'

/** A record: by the names of its columns, or in their order. */
export type CsvCells = Readonly<Record<string, unknown>> | readonly unknown[]

/** A formula behind blanks: spaces, no-break spaces, or a byte order mark. */
const HIDDEN_FORMULA = /^\s+[=+\-@\uff1d\uff0b\uff0d\uff20]/

const PLAIN = {
  record_delimiter: '\r\n',
  quoted_string: true,
  cast: { boolean: (value: boolean) => (value ? 'true' : 'false') },
}

/**
 * CSV by RFC 4180 for spreadsheets. Text is always quoted; null is an empty cell without quotes, as in Postgres. Text that a spreadsheet
 * would take for a formula gets a leading `'`. Numbers do not: their minus is harmless.
 */
export function csvText(records: readonly CsvCells[], columns: readonly string[], header: boolean): string {
  return stringify([...records], {
    ...PLAIN,
    columns,
    header,
    escape_formulas: true,
    cast: {
      ...PLAIN.cast,
      // The library handles every other first character of a formula, but not those that stand behind blanks, which spreadsheets pass over.
      string: (value) => (value.startsWith('\n') || HIDDEN_FORMULA.test(value) ? `'${value}` : value),
    },
  })
}

/** CSV as `csvText` writes it, with each text as it is: for programs. */
export function plainCsvText(records: readonly CsvCells[], columns: readonly string[], header: boolean): string {
  return stringify([...records], { ...PLAIN, columns, header })
}
