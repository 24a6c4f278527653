import Database, { type Statement } from 'better-sqlite3'
import type { CompiledQuery, QueryResult } from 'kysely'
import { TransientError } from '../../base/errors.ts'
import { bindable, type Decode, decoderOfColumn, type SqliteValue } from '../schema/codec.ts'
import { isBusy } from './errors.ts'

/**
 * Maximum number of cached statements. The limit matters for statements with lists, because each length of the list
 * gives another text.
 */
const MAX_STATEMENTS = 500
/** If switching to the write-ahead log has no effect this many times, `enterLog` continues without such a log. */
const LOG_ATTEMPTS = 10
/** If the database is locked, `enterLog` tries again for `LOG_WAIT_MS`, with pauses of up to `LOG_PAUSE_MS`. */
const LOG_WAIT_MS = 5_000
const LOG_PAUSE_MS = 20

interface Prepared {
  readonly statement: Statement<SqliteValue[], Record<string, SqliteValue>>
  /** Decoders for the columns whose values must be converted. */
  readonly decoders: readonly { readonly name: string; readonly decode: Decode }[]
}

/** A connection to a SQLite database. All methods are synchronous. Errors of SQLite are thrown unchanged. */
export class SqliteConnection {
  readonly database: Database.Database
  readonly #statements = new Map<string, Prepared>()
  #flushes: boolean | null = null
  #endedBy: unknown = null

  constructor(path: string, options: Database.Options) {
    this.database = new Database(path, options)
  }

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

  /** Sets whether commits wait until the data is on disk. Don't call this during a transaction. */
  flushCommits(flushes: boolean): void {
    if (this.#flushes === flushes) return
    this.database.pragma(`synchronous = ${flushes ? 'full' : 'normal'}`)
    this.#flushes = flushes
  }

  begin(): void {
    this.#endedBy = null
    this.prepare('begin immediate').statement.run()
  }

  /**
   * Runs a step of the open transaction. If a disk error ended the transaction, all later steps fail. Otherwise SQLite
   * would commit each later statement on its own.
   * @throws the error of `run`, or the error that ended the transaction.
   */
  step<T>(run: () => T): T {
    if (!this.database.inTransaction) throw this.#endedBy ?? new Error('the transaction was ended before it was committed')
    try {
      return run()
    } catch (error) {
      if (!this.database.inTransaction) this.#endedBy = error
      throw error
    }
  }

  commit(): void {
    this.step(() => this.prepare('commit').statement.run())
  }

  /** Rolls back the transaction. Does nothing if an error already ended the transaction. */
  rollback(): void {
    if (this.database.inTransaction) this.database.exec('rollback')
  }

  /**
   * Copies the log into the database, waits until the data is on disk, and restarts the log. Call this after a sync
   * failed. Otherwise the log on disk might have a gap, and a power failure would lose the commits after the gap.
   * @throws SqliteError if the disk still fails. TransientError if another process is reading the log.
   */
  restartLog(): void {
    const [state] = this.database.pragma('wal_checkpoint(restart)') as { busy: number }[]
    if (state?.busy === 0) return
    throw new TransientError(
      `the log of ${this.database.name} could not be synced and must restart, but another process is reading it; end that process (\`fuser -v ${this.database.name}\` prints it)`,
    )
  }

  /**
   * Switches the database to a write-ahead log and opens the log. Other processes can't remove an open log. If the file
   * system doesn't support such a log, continues without one, and `doctor` reports this.
   * @throws SqliteError if the database is damaged or stays locked.
   */
  enterLog(): void {
    const deadline = performance.now() + LOG_WAIT_MS
    for (let attempts = 0; attempts < LOG_ATTEMPTS; ) {
      try {
        this.database.pragma('journal_mode = wal')
        this.#openLog()
        if (this.database.pragma('journal_mode', { simple: true }) === 'wal') return
        attempts++
      } catch (error) {
        // If two processes create the log at the same time, SQLite may report a deadlock as "busy". Try again.
        if (!isBusy(error) || performance.now() > deadline) throw error
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Math.random() * LOG_PAUSE_MS)
      }
    }
  }

  /**
   * Copies the log into the database and removes the log, so that users with read-only access can open the database
   * file. Does nothing if another connection is open.
   */
  leaveLog(): void {
    try {
      // Only a connection that opened the log can remove it.
      this.#openLog()
      this.flushCommits(true)
      this.database.pragma('journal_mode = delete')
    } catch {
      // Another process has the database open, or the disk fails. The log then stays, and the next process that opens
      // the database reads it.
    }
  }

  /** Opens the log by reading from the database. Ignores errors, because the next statement reports them. */
  #openLog(): void {
    try {
      this.database.pragma('schema_version')
    } catch {}
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
