/** For each column, possible paths in order of priority. A path is the record's keys joined by dots. */
export type ColumnPaths = Readonly<Record<string, readonly string[]>>

/**
 * Where to find the values of columns in the records of policies and insureds. The specification doesn't show the
 * fields of these records.
 */
export interface RecordFields {
  readonly policies: ColumnPaths
  readonly insureds: ColumnPaths
}
