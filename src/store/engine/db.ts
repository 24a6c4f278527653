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

/** Shared by a database, its reads and its transactions. */
export interface DbParts {
  readonly kind: 'sqlite' | 'postgres'
  readonly clock: Clock
  readonly signals: Signals
  /** How tax ids are protected before they are stored. */
  readonly protection: Protection
  /** Whether `documents` gets rows; false if `DOCUMENTS=off`. */
  readonly listsDocuments: boolean
  readonly seen: LogSeen
}

/**
 * A SQLite or Postgres database. Both return the same row shape (see `ColumnKind`): TimeText, booleans, parsed JSON, and numbers for
 * bigint.
 */
export interface Db extends DbParts {
  /** New uuid per opened database. Lease tokens start with this id. */
  readonly processId: string
  /** Reads outside a transaction. SQLite has a separate connection for them, so readers never wait for the writer. */
  readonly read: Query
  /**
   * Reads for health reports. On Postgres they use separate connections with a short lock timeout. SQLite's `read` never waits for locks.
   */
  readonly readNoWait: Query
  /**
   * Runs `work` in one write transaction and commits. `work` may await only the store. On SQLite, transactions queue for one writing
   * connection (`begin immediate`), `priority` ones first. Waiting for another process's lock doesn't block the event loop. On Postgres,
   * uses one pooled connection with `synchronous_commit = on`. After a Postgres deadlock `work` runs again, so it must not change anything
   * outside the transaction.
   * @param name names the transaction; tests stop the process at `<name>:before-commit` and `<name>:after-commit`.
   * @throws TransientError if the database is unreachable, full or locked too long, or if the commit outcome is unknown. An error of `work`
   * rolls back and is rethrown.
   */
  write<T>(name: string, work: (tx: Tx) => Promise<T>, options?: WriteOptions): Promise<T>
  /**
   * Passes other processes' notifications to `signals` until `signal` aborts. Notifies all topics after each connect, because notifications
   * may be lost. On SQLite, which only one process serves, just waits.
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
  /** Runs before other waiting transactions of this process. Used by the receiver. */
  readonly priority?: boolean
  /** `work` is exactly one statement, which Postgres runs as its own transaction in a single round trip. */
  readonly singleStatement?: boolean
  /** For migrations: long lock waits, and no time limit for statements. */
  readonly noTimeout?: boolean
  /**
   * For upkeep, which reads many uncached pages. SQLite runs the statements in a worker thread: other transactions wait, the event loop
   * doesn't.
   */
  readonly onWorkerThread?: boolean
  /**
   * For transactions that a power failure may undo, such as leases. SQLite commits without a disk sync; a killed process loses nothing.
   * Ignored on Postgres, because clients may outlive the server.
   */
  readonly relaxedDurability?: boolean
}

/** A kysely statement. `T` is the type of its rows. */
export interface Statement<T> {
  compile(executor: Kysely<Tables>): CompiledQuery<T>
}

/** Kysely queries, and helpers that hide database differences. */
export interface Query extends DbParts {
  readonly sql: Kysely<Tables>
  all<T>(statement: Statement<T>): Promise<T[]>
  /** @returns the first row; null if none. */
  one<T>(statement: Statement<T>): Promise<T | null>
  exists(statement: Statement<unknown>): Promise<boolean>
  /** @returns the first column of the first row as a number; 0 if no row. */
  count(statement: Statement<object>): Promise<number>
  /** @returns how many rows the statement changed. */
  run(statement: Statement<unknown>): Promise<number>
  /**
   * Selects rows by key; omits missing rows. `lock` locks the rows in key order until the transaction ends. A SQLite write transaction
   * already locks everything. @param keys distinct.
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

/** Table description: name, key columns (unique together), and the kind of each column. */
export interface TableSpec {
  readonly table: string
  readonly key: readonly string[]
  readonly columns: Readonly<Record<string, ColumnKind>>
}

/** Lets tests stop the process. Unset in production. */
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
