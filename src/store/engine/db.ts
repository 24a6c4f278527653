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

/** Parts that a database shares with its reads and transactions. */
export interface DbParts {
  readonly kind: 'sqlite' | 'postgres'
  readonly clock: Clock
  readonly signals: Signals
  /** How tax ids are protected before they are stored. */
  readonly protection: Protection
  /** Whether the table `documents` gets rows; false if `DOCUMENTS=off`. */
  readonly listsDocuments: boolean
  readonly seen: LogSeen
}

/**
 * A SQLite or Postgres database.
 * Both databases return values in the same form (see `ColumnKind`): times as TimeText, booleans as true or false, JSON
 * parsed, and bigint as numbers.
 */
export interface Db extends DbParts {
  /** A new UUID each time a database is opened. Lease tokens start with this id. */
  readonly processId: string
  /** Reads outside a transaction. SQLite uses a separate connection, so readers never wait for the writer. */
  readonly read: Query
  /**
   * Reads for health reports. On Postgres, these reads use separate connections with a short lock timeout.
   * On SQLite, this is `read`, which never waits for locks.
   */
  readonly readNoWait: Query
  /**
   * Runs `work` in one write transaction, then commits. `work` may await only methods of the store.
   * SQLite: transactions queue for one writing connection. Transactions with `priority` go first (see `WriteGate`).
   * Waiting for another process's lock doesn't block the event loop.
   * Postgres: uses one pooled connection with `synchronous_commit = on`. After a conflict such as a deadlock, `work`
   * runs again, so `work` must not change anything outside the transaction.
   * @param name name of the transaction. Tests stop the process at `<name>:before-commit` and `<name>:after-commit`.
   * @throws TransientError if the database is unreachable or full, if a lock takes too long, or if the commit outcome
   * is unknown. Rethrows errors of `work` after a rollback.
   */
  write<T>(name: string, work: (tx: Tx) => Promise<T>, options?: WriteOptions): Promise<T>
  /**
   * Passes notifications of other processes to `signals`, until `signal` aborts.
   * After each connect to Postgres, notifies all topics, because notifications may have been lost.
   * SQLite has no notifications. There, the method only waits for the abort.
   */
  listen(signal: AbortSignal): Promise<void>
  /**
   * Empties SQLite's write-ahead log, which contains earlier versions of rows. Does nothing on Postgres.
   * @returns false if another process is reading the log, or if the disk fails.
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
  /**
   * For deliveries, alarms, and heartbeats. On SQLite, the transaction runs before other waiting transactions of this
   * process (see `WriteGate`). Postgres has separate connections for such transactions.
   */
  readonly priority?: boolean
  /**
   * true: `work` runs exactly one statement. Postgres then runs the statement as its own transaction,
   * in one round trip.
   */
  readonly singleStatement?: boolean
  /** Waits longer than other transactions for locks, and sets no time limit for statements. For long work. */
  readonly noTimeout?: boolean
  /**
   * SQLite runs the statements in a worker thread. Other transactions wait, but the event loop doesn't.
   * For upkeep, whose statements read many pages from the disk.
   */
  readonly onWorkerThread?: boolean
  /**
   * For transactions that a power failure may undo, such as leases. SQLite then commits without a disk sync. If only
   * the process is killed, the commit isn't lost.
   * Postgres ignores this option. If a failed server lost a lease, two processes could do the same work.
   */
  readonly relaxedDurability?: boolean
}

/** A kysely statement. `T` is the type of a row. */
export interface Statement<T> {
  compile(executor: Kysely<Tables>): CompiledQuery<T>
}

/** Kysely queries, and helpers that hide the differences between the databases. */
export interface Query extends DbParts {
  readonly sql: Kysely<Tables>
  all<T>(statement: Statement<T>): Promise<T[]>
  /** @returns the first row; null if there are no rows. */
  one<T>(statement: Statement<T>): Promise<T | null>
  exists(statement: Statement<unknown>): Promise<boolean>
  /** @returns the first column of the first row as a number; 0 if there are no rows. */
  count(statement: Statement<object>): Promise<number>
  /** @returns how many rows the statement changed. */
  run(statement: Statement<unknown>): Promise<number>
  /**
   * Reads rows by key. Leaves out missing rows.
   * With `lock`, Postgres locks the rows in key order until the transaction ends.
   * SQLite ignores `lock`, because a write transaction already locks the whole database.
   * @param keys distinct keys.
   */
  selectMany(table: TableSpec, keys: readonly Row[], options?: { readonly lock?: boolean }): Promise<Row[]>
  /** Reads all rows whose columns equal `where`, in key order. A null in `where` matches null. */
  selectWhere(table: TableSpec, where: Row): Promise<Row[]>
  /**
   * Reads up to `limitEach` rows of each submission.
   * @param table a table whose key begins with account and submission.
   */
  selectOfSubmissions(table: TableSpec, account: string, submissionIds: readonly string[], limitEach: number): Promise<Row[]>
}

/** A write transaction. Unusable after it ends. */
export interface Tx extends Query {
  /** Inserts all rows. With `ignore`, skips rows whose key exists. @returns the number of inserted rows. */
  insertMany(table: TableSpec, rows: readonly Row[], options?: { readonly ignore?: boolean }): Promise<number>
  /** Updates `columns` of the rows with the given keys. @returns the number of rows that existed. */
  updateMany(table: TableSpec, columns: readonly string[], rows: readonly Row[]): Promise<number>
  /** Runs `action` once after the commit. After a rollback, `action` doesn't run. */
  afterCommit(action: () => void): void
  /**
   * Notifies only other processes, after the commit. Use `wake` in `notify.ts` to notify this process too.
   */
  notifyOthers(topic: Topic): void
}

/** Description of a table: its name, its key columns (unique together), and the kind of each column. */
export interface TableSpec {
  readonly table: string
  readonly key: readonly string[]
  readonly columns: Readonly<Record<string, ColumnKind>>
}

/** Lets tests stop the process at a named point. Unset in production. */
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
