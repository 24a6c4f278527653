import Database, { type Statement } from 'better-sqlite3'
import type { CompiledQuery, QueryResult } from 'kysely'
import { TransientError } from '../../base/errors.ts'
import { bindable, type Decode, decoderOfColumn, type SqliteValue } from '../schema/codec.ts'
import { isBusy } from './errors.ts'

/** Prepared statements kept. A program has few texts; only lists of varying length add more. */
const MAX_STATEMENTS = 500
/** Attempts to enter the log that end without one: another process closed the database at that very moment, or there can be none. */
const LOG_ATTEMPTS = 10
/** How long to try against others that enter or leave it, and the longest pause in between. */
const LOG_WAIT_MS = 5_000
const LOG_PAUSE_MS = 20

interface Prepared {
  readonly statement: Statement<SqliteValue[], Record<string, SqliteValue>>
  /** Decoders of the columns that need one; empty for most statements. */
  readonly decoders: readonly { readonly name: string; readonly decode: Decode }[]
}

/** One connection to a SQLite database. All methods are synchronous and throw SqliteError unchanged. */
export class SqliteConnection {
  readonly database: Database.Database
  readonly #statements = new Map<string, Prepared>()
  #flushes: boolean | null = null
  #endedBy: unknown = null

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

  /** Runs a statement compiled by kysely. */
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

  /** Sets whether commits wait for the disk. Must not be called within a transaction. */
  flushCommits(flushes: boolean): void {
    if (this.#flushes === flushes) return
    this.database.pragma(`synchronous = ${flushes ? 'full' : 'normal'}`)
    this.#flushes = flushes
  }

  /** Begins a write transaction, with its lock. */
  begin(): void {
    this.#endedBy = null
    this.prepare('begin immediate').statement.run()
  }

  /**
   * Runs one step of the open transaction. A full or failing disk ends a transaction at once, and each later statement would be committed by
   * itself.
   * @throws what ended the transaction, when it is not open any more.
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

  /** Rolls back an open transaction; some errors have ended it already. */
  rollback(): void {
    if (this.database.inTransaction) this.database.exec('rollback')
  }

  /**
   * Copies the whole log into the database, syncs that, and has the next transaction begin the log anew. After a sync that failed, the system
   * takes what it could not write for written and syncs it no more: a later commit would stand behind a gap and be lost with a power failure
   * (invariant 1).
   * @throws SqliteError when the disk still fails; TransientError when another process is reading what lies in the log.
   */
  restartLog(): void {
    const [state] = this.database.pragma('wal_checkpoint(restart)') as { busy: number }[]
    if (state?.busy === 0) return
    throw new TransientError(
      `the log of ${this.database.name} could not be synced and must begin anew, and another process is reading it; end that (\`fuser -v ${this.database.name}\` names it)`,
    )
  }

  /**
   * Gives the database a write-ahead log and opens it, which keeps every other process from taking it away. One that closes may have done so in
   * between. Where a file system allows no log, `doctor` says so.
   * @throws SqliteError when the database is damaged or locked.
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
        // Two that enter it at once may each wait for the other: then SQLite refuses one at once, whatever its timeout.
        if (!isBusy(error) || performance.now() > deadline) throw error
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Math.random() * LOG_PAUSE_MS)
      }
    }
  }

  /**
   * Before closing: when no other connection has the database open, copies the log into it and leaves one file, which everybody may read who
   * has the right to read it. With a log, even without its files, SQLite asks readers for the right to write. Else the log stays.
   */
  leaveLog(): void {
    try {
      // Only who has opened the log can remove it, be it here or by closing.
      this.#openLog()
      this.flushCommits(true)
      this.database.pragma('journal_mode = delete')
    } catch {
      // Others have it open, or the disk is full or failing. Nothing is lost: whoever opens the database next finds the log.
    }
  }

  /** By reading. Ignores a database that cannot be read. */
  #openLog(): void {
    try {
      this.database.pragma('schema_version')
    } catch {
      // Whoever uses the database next meets the same error and reports it.
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
