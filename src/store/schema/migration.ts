/** The names of column types in one database, so that a migration is written once for both. */
export interface ColumnTypes {
  readonly kind: 'sqlite' | 'postgres'
  /** Ids, names and whatever else a key is made of: ordered by bytes, as on SQLite and in code, and untouched by a new libc. */
  readonly id: string
  readonly time: string
  readonly date: string
  readonly bool: string
  readonly json: string
  readonly raw: string
  readonly int: string
  readonly real: string
  readonly bytes: string
  /** A whole number that the database assigns, with `primary key`. */
  readonly serial: string
}

/**
 * One step of the schema. `oldestCompatible` is the oldest schema version whose code still runs on the result: an expanding step keeps it, a
 * contracting one raises it.
 */
export interface Migration {
  readonly version: number
  readonly name: string
  readonly oldestCompatible: number
  statements(types: ColumnTypes): readonly string[]
}
