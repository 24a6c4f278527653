/** For each column, paths by priority: record keys joined by dots. */
export type ColumnPaths = Readonly<Record<string, readonly string[]>>

/** Where to find columns of policies and insureds in their records, whose fields the service does not show. */
export interface RecordFields {
  readonly policies: ColumnPaths
  readonly insureds: ColumnPaths
}
