import { stringify } from 'csv-stringify/sync'

/** Values of a record, by column name or in column order. */
export type CsvCells = Readonly<Record<string, unknown>> | readonly unknown[]

/** A formula after blanks: spaces, no-break spaces, or a byte order mark. */
const HIDDEN_FORMULA = /^\s+[=+\-@\uff1d\uff0b\uff0d\uff20]/

const PLAIN = {
  record_delimiter: '\r\n',
  quoted_string: true,
  cast: { boolean: (value: boolean) => (value ? 'true' : 'false') },
}

/**
 * CSV by RFC 4180 for spreadsheets: text is quoted, null is an empty unquoted cell, and text that looks like a formula gets a leading `'`.
 */
export function csvText(records: readonly CsvCells[], columns: readonly string[], header: boolean): string {
  return stringify([...records], {
    ...PLAIN,
    columns,
    header,
    escape_formulas: true,
    cast: {
      ...PLAIN.cast,
      // The library escapes formulas, except after a line break or blanks, which spreadsheets skip.
      string: (value) => (value.startsWith('\n') || HIDDEN_FORMULA.test(value) ? `'${value}` : value),
    },
  })
}

/** CSV for programs: as `csvText`, without escaping formulas. */
export function plainCsvText(records: readonly CsvCells[], columns: readonly string[], header: boolean): string {
  return stringify([...records], { ...PLAIN, columns, header })
}
