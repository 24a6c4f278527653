import { stringify } from 'csv-stringify/sync'

/** Values of one record: an object by column name, or a list in column order. */
export type CsvCells = Readonly<Record<string, unknown>> | readonly unknown[]

/** Matches a formula after leading whitespace or a byte order mark, such as ` =1+1`. */
const HIDDEN_FORMULA = /^\s+[=+\-@\uff1d\uff0b\uff0d\uff20]/

const PLAIN = {
  record_delimiter: '\r\n',
  quoted_string: true,
  cast: { boolean: (value: boolean) => (value ? 'true' : 'false') },
}

/**
 * CSV (RFC 4180) for spreadsheets. Text is quoted, and null is an empty unquoted cell. Text that looks like a formula
 * gets a leading `'`, so that spreadsheets don't run it.
 */
export function csvText(records: readonly CsvCells[], columns: readonly string[], header: boolean): string {
  return stringify([...records], {
    ...PLAIN,
    columns,
    header,
    escape_formulas: true,
    cast: {
      ...PLAIN.cast,
      // Spreadsheets also run a formula after blanks or a line break. The library escapes only formulas at the start
      // of a text.
      string: (value) => (value.startsWith('\n') || HIDDEN_FORMULA.test(value) ? `'${value}` : value),
    },
  })
}

/** CSV for programs: like `csvText`, but formulas aren't escaped. */
export function plainCsvText(records: readonly CsvCells[], columns: readonly string[], header: boolean): string {
  return stringify([...records], { ...PLAIN, columns, header })
}
