import Database, { type Statement } from 'better-sqlite3'
import type { CompiledQuery, QueryResult } from 'kysely'
import { bindable, type Decode, decoderOfColumn, type SqliteValue } from '../schema/codec.ts'

/** Statements kept prepared; the texts of a program are few, only lists of changing length make new ones. */
const MAX_STATEMENTS = 500

interface Prepared {
  readonly statement: Statement<SqliteValue[], Record<string, SqliteValue>>
  /** The columns whose values must be turned; empty for most. */
  readonly decoders: readonly { readonly name: string; readonly decode: Decode }[]
}

/** One connection to a SQLite database. Everything here is synchronous and throws SqliteError as it comes. */
export class SqliteConnection {
  readonly database: Database.Database
  readonly #statements = new Map<string, Prepared>()
  #flushes: boolean | null = null

  constructor(path: string, options: Database.Options) {
    this.database = new Database(path, options)
  }

  /** @returns the statement for `text`, prepared once. */
  prepare(text: string): Prepared {
    const kept = this.#statements.get(text)
    if (kept) return kept
    const statement = this.database.prepare<SqliteValue[], Record<string, SqliteValue>>(text)
    const prepared = { statement, decoders: statement.reader ? decodersOf(statement) : [] }
    this.#statements.set(text, prepared)
    if (this.#statements.size > MAX_STATEMENTS) {
      for (const oldest of this.#statements.keys()) {
        this.#statements.delete(oldest)
        break
      }
    }
    return prepared
  }

  /** Runs a statement of kysely. */
  run(query: CompiledQuery): QueryResult<unknown> {
    const { statement, decoders } = this.prepare(query.sql)
    const parameters = query.parameters.map(bindable)
    if (!statement.reader) {
      const { changes, lastInsertRowid } = statement.run(...parameters)
      return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) }
    }
    const rows: Record<string, unknown>[] = statement.all(...parameters)
    for (const { name, decode } of decoders) {
      for (const row of rows) row[name] = decode(row[name] as SqliteValue)
    }
    return { rows }
  }

  /** Whether the next transactions wait until the disk has what they wrote. Not to be called within one. */
  flushCommits(flushes: boolean): void {
    if (this.#flushes === flushes) return
    this.database.pragma(`synchronous = ${flushes ? 'full' : 'normal'}`)
    this.#flushes = flushes
  }

  /** Rolls back when a transaction is open; some errors have ended it already. */
  rollback(): void {
    if (this.database.inTransaction) this.database.exec('rollback')
  }

  /** Opens the write-ahead log by reading; a database that cannot be read (any more) is left as it is. */
  openLog(): void {
    try {
      this.database.pragma('schema_version')
    } catch {
      // It is about to be closed: whoever opens it next meets the same error, and tells it.
    }
  }

  close(): void {
    this.#statements.clear()
    this.database.close()
  }
}

function decodersOf(statement: Statement<SqliteValue[], Record<string, SqliteValue>>): { name: string; decode: Decode }[] {
  return statement.columns().flatMap(({ name, table, column }) => {
    const decode = decoderOfColumn(table, column)
    return decode ? [{ name, decode }] : []
  })
}
