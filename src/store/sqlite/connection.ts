import Database, { type Statement } from 'better-sqlite3'
import type { CompiledQuery, QueryResult } from 'kysely'
import { TransientError } from '../../base/errors.ts'
import { bindable, type Decode, decoderOfColumn, type SqliteValue } from '../schema/codec.ts'
import { isBusy } from './errors.ts'

/** Maximum cached statements. Only lists of varying length add many. */
const MAX_STATEMENTS = 500
/** Attempts that may fail to open the log. */
const LOG_ATTEMPTS = 10
/** Time limit for locks, and longest pause, in ms. */
const LOG_WAIT_MS = 5_000
const LOG_PAUSE_MS = 20

interface Prepared {
  readonly statement: Statement<SqliteValue[], Record<string, SqliteValue>>
  /** Decoders, if columns need them. */
  readonly decoders: readonly { readonly name: string; readonly decode: Decode }[]
}

/** A connection to a SQLite database. All methods are synchronous and throw SqliteError unchanged. */
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

  /** Sets whether commits wait for the disk. Don't call within a transaction. */
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
   * Runs a step of the open transaction. After a disk error ends the transaction, SQLite would commit each later statement separately.
   * @throws the error that ended the transaction.
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

  /** Rolls back the transaction, unless an error already ended it. */
  rollback(): void {
    if (this.database.inTransaction) this.database.exec('rollback')
  }

  /**
   * Copies the log into the database, syncs it, and restarts the log. After a failed sync, later commits would follow a gap, and a power
   * failure would lose them.
   * @throws SqliteError if the disk still fails; TransientError if another process is reading the log.
   */
  restartLog(): void {
    const [state] = this.database.pragma('wal_checkpoint(restart)') as { busy: number }[]
    if (state?.busy === 0) return
    throw new TransientError(
      `the log of ${this.database.name} could not be synced and must restart, but another process is reading it; end that process (\`fuser -v ${this.database.name}\` prints it)`,
    )
  }

  /**
   * Creates and opens a write-ahead log. While open, other processes can't remove it. If the file system supports no log, `doctor` reports
   * it.
   * @throws SqliteError if the database is damaged or locked.
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
        // If two processes create the log together, they may deadlock: SQLite then fails.
        if (!isBusy(error) || performance.now() > deadline) throw error
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Math.random() * LOG_PAUSE_MS)
      }
    }
  }

  /** Copies the log into the database, unless another connection is open. Read-only users can open the remaining file. */
  leaveLog(): void {
    try {
      // Only a connection that has opened the log can remove it.
      this.#openLog()
      this.flushCommits(true)
      this.database.pragma('journal_mode = delete')
    } catch {
      // Another process has the database open, or the disk fails. The next process that opens the database reads the log.
    }
  }

  /** Opens the log by reading. The next use reports errors. */
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
