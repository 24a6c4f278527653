/** For each column, possible paths in order of priority. A path is the record's keys joined by dots. */
export type ColumnPaths = Readonly<Record<string, readonly string[]>>

/**
 * Where the columns of policies and insureds are in their records. The specification doesn't show the fields
 * of these records.
 */
export interface RecordFields {
  readonly policies: ColumnPaths
  readonly insureds: ColumnPaths
}
