import type { CompiledQuery, Kysely } from 'kysely'
import type { Clock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import type { Observer } from '../../base/observer.ts'
import type { Config } from '../../config/config.ts'
import type { ColumnKind, Row } from '../../model/entity.ts'
import type { Protection } from '../../model/protection/protection.ts'
import type { Tables } from '../schema/tables.ts'
import type { LogSeen } from './log-seen.ts'
import type { Signals, Topic } from './signals.ts'

/** What a database shares with its reads and transactions. */
export interface DbParts {
  readonly kind: 'sqlite' | 'postgres'
  readonly clock: Clock
  readonly signals: Signals
  /** How tax ids are protected before they are stored. */
  readonly protection: Protection
  /** Whether `documents` gets rows: not with `DOCUMENTS=off`. */
  readonly listsDocuments: boolean
  readonly seen: LogSeen
}

/**
 * A SQLite or Postgres database. Rows have the same shape from both (see `ColumnKind`): times are TimeText, booleans are booleans, JSON is
 * parsed, bigint is a number.
 */
export interface Db extends DbParts {
  /** A new uuid each time the database is opened, and part of every claim made through it. */
  readonly processId: string
  /** Reads outside a transaction. SQLite has a separate connection for them, so readers never wait for the writer. */
  readonly read: Query
  /**
   * Reads for health reports. On Postgres they use separate connections and stop waiting soon if a table is locked. SQLite's `read` never waits
   * for a lock.
   */
  readonly readNoWait: Query
  /**
   * Runs `work` in one write transaction and commits it. `work` awaits only the store (invariant 13). SQLite: `begin immediate` on the one
   * writing connection; transactions queue, `priority` ones first, and waiting for another process's lock doesn't block the event loop.
   * Postgres: one pooled connection, `synchronous_commit = on`. After a deadlock on Postgres `work` runs again, so it must change nothing
   * outside the transaction.
   * @param name names the transaction; tests stop the process at `<name>:before-commit` and `<name>:after-commit`.
   * @throws TransientError if the database is unreachable, full or locked for too long, or if the outcome of the commit is unknown. An
   * error of `work` rolls back and is rethrown.
   */
  write<T>(name: string, work: (tx: Tx) => Promise<T>, options?: WriteOptions): Promise<T>
  /**
   * Passes notifications of other processes to `signals` until `signal` aborts. Notifies every topic after each connect, because some may
   * be lost. On SQLite only one process serves, so it waits for `signal`.
   */
  listen(signal: AbortSignal): Promise<void>
  /**
   * Empties SQLite's write-ahead log, which contains earlier versions of rows. Does nothing on Postgres. @returns false if another process
   * is reading the log.
   */
  emptyLog(): Promise<boolean>
  /** Waits for running transactions, then closes every connection. */
  close(): Promise<void>
}

export interface ServiceParts {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  readonly observer: Observer
}

export type DatabaseConfig = Config['database']

export interface WriteOptions {
  /** Runs before the other transactions waiting in this process, as the receiver's appends do. */
  readonly priority?: boolean
  /** `work` is exactly one statement, which Postgres runs as its own transaction in a single round trip. */
  readonly singleStatement?: boolean
  /** Waits long for locks and lets statements run without a time limit: for migrations. */
  readonly noTimeout?: boolean
  /**
   * SQLite runs the statements in a worker thread. Other transactions wait, the event loop does not. For upkeep, which reads many uncached
   * pages.
   */
  readonly onWorkerThread?: boolean
  /**
   * A power failure may undo the transaction without harm, such as a lease. SQLite then commits without waiting for the disk; a killed
   * process loses nothing. Postgres ignores this, because its clients may outlive it.
   */
  readonly relaxedDurability?: boolean
}

/** A kysely statement. `T` is the type of its rows. */
export interface Statement<T> {
  compile(executor: Kysely<Tables>): CompiledQuery<T>
}

/** Kysely's queries, and the differences between the databases. */
export interface Query extends DbParts {
  readonly sql: Kysely<Tables>
  /** @returns the rows. */
  all<T>(statement: Statement<T>): Promise<T[]>
  /** @returns the first row; null without one. */
  one<T>(statement: Statement<T>): Promise<T | null>
  /** @returns whether there is a row. */
  exists(statement: Statement<unknown>): Promise<boolean>
  /** @returns the number in the first column of the first row; 0 without one. */
  count(statement: Statement<object>): Promise<number>
  /** @returns how many rows the statement changed. */
  run(statement: Statement<unknown>): Promise<number>
  /**
   * Selects rows by key; missing rows are left out. `lock` locks the rows in key order until the transaction ends; on SQLite a write
   * transaction holds the only lock anyway. @param keys distinct.
   */
  selectMany(table: TableSpec, keys: readonly Row[], options?: { readonly lock?: boolean }): Promise<Row[]>
  /** All rows whose columns equal `where` (null equals null), in key order. */
  selectWhere(table: TableSpec, where: Row): Promise<Row[]>
  /** Up to `limitEach` rows of each submission. @param table its key begins with account and submission. */
  selectOfSubmissions(table: TableSpec, account: string, submissionIds: readonly string[], limitEach: number): Promise<Row[]>
}

/** A write transaction. Unusable after its end. */
export interface Tx extends Query {
  /** Inserts all rows. `ignore` skips rows whose key exists. @returns how many were inserted. */
  insertMany(table: TableSpec, rows: readonly Row[], options?: { readonly ignore?: boolean }): Promise<number>
  /** Updates `columns` of the row with each given key. @returns how many rows existed. */
  updateMany(table: TableSpec, columns: readonly string[], rows: readonly Row[]): Promise<number>
  /** Runs `action` once after the commit, but not after a rollback. */
  afterCommit(action: () => void): void
  /** Notifies other processes after the commit; see `wake` in notify.ts. */
  notifyOthers(topic: Topic): void
}

/** A table for the row functions: name, key columns (unique together), and the kind of each column. */
export interface TableSpec {
  readonly table: string
  readonly key: readonly string[]
  readonly columns: Readonly<Record<string, ColumnKind>>
}

/** Tests stop the process here. Production passes none. */
export type FailPoint = (point: string) => void

export interface OpenOptions {
  readonly clock: Clock
  readonly log: Log
  readonly failPoint?: FailPoint | undefined
  /** Default: tax ids are dropped. */
  readonly protection?: Protection | undefined
  /** Default: true. */
  readonly listsDocuments?: boolean
}
