import type { Kysely } from 'kysely'
import type { Clock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import type { Observer } from '../../base/observer.ts'
import type { Config } from '../../config/config.ts'
import type { ColumnKind, Row } from '../../model/entity.ts'
import type { Protection } from '../../model/protection/protection.ts'
import type { Tables } from '../schema/tables.ts'
import type { LogSeen } from './log-seen.ts'
import type { Signals, Topic } from './signals.ts'

/** What a database and all that is read and written in it have in common. */
export interface DbParts {
  readonly kind: 'sqlite' | 'postgres'
  readonly clock: Clock
  readonly signals: Signals
  /** What is done with tax ids before they are stored. */
  readonly protection: Protection
  /** Whether `documents` gets rows: not with `DOCUMENTS=off`. */
  readonly listsDocuments: boolean
  readonly seen: LogSeen
}

/**
 * One database, SQLite or Postgres. Rows have the same shape from both (see `ColumnKind`): times are TimeText, booleans are booleans,
 * JSON is parsed, bigint is a number.
 */
export interface Db extends DbParts {
  /** A new uuid each time the database is opened. Claims made through it carry it. */
  readonly processId: string
  /** Reads outside a transaction. SQLite has a separate connection for them, so readers never wait for the writer. */
  readonly read: Query
  /**
   * Reads for reports of health. On Postgres they have connections of their own, so that work that waits for a lock doesn't take the last one,
   * and give up soon when a table is locked. On SQLite, `read` never waits for a lock.
   */
  readonly readNoWait: Query
  /**
   * Runs `work` in one write transaction and commits it. `work` awaits nothing but the store (invariant 13).
   * SQLite: `begin immediate` on the one writing connection. Transactions queue, `priority` ones first; a lock held by another process
   * is waited for without blocking the event loop. Postgres: one pooled connection, `synchronous_commit = on`.
   * `work` may run more than once, because Postgres aborts one of two deadlocked transactions. It must change nothing outside the
   * transaction before it returns.
   * @param name names the transaction; tests stop the process at `<name>:before-commit` and `<name>:after-commit`.
   * @throws TransientError when the database is unreachable, full or locked for too long, or when it is unknown whether the commit took
   * place. An error thrown by `work` rolls back and is rethrown.
   */
  write<T>(name: string, work: (tx: Tx) => Promise<T>, options?: WriteOptions): Promise<T>
  /**
   * Hands notifications of other processes to `signals` until `signal` aborts. After each connect it notifies every topic, because it may
   * have missed some. On SQLite only one process serves, so it just waits for `signal`.
   */
  listen(signal: AbortSignal): Promise<void>
  /**
   * Empties SQLite's write-ahead log, which holds earlier versions of rows. Postgres keeps its log to itself: nothing is done there.
   * @returns false when another process is reading from it.
   */
  emptyLog(): Promise<boolean>
  /** Waits for running transactions, then closes every connection. */
  close(): Promise<void>
}

/** What every service works with. */
export interface ServiceParts {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  readonly observer: Observer
}

/** Where the database is, from the settings. */
export type DatabaseConfig = Config['database']

export interface WriteOptions {
  /** Runs before the other transactions waiting in this process. The receiver's appends use it. */
  readonly priority?: boolean
  /**
   * `work` is exactly one statement. Postgres then runs it as its own transaction in a single round trip; every further trip waits for
   * the event loop.
   */
  readonly singleStatement?: boolean
  /** Waits long for locks and lets statements run without a time limit: for migrations. */
  readonly noTimeout?: boolean
  /**
   * SQLite runs the statements in a worker thread. Other transactions wait, the event loop does not. For upkeep, which touches many
   * pages that are not cached.
   */
  readonly onWorkerThread?: boolean
  /**
   * A power failure may undo it without harm: a lease whose holder is gone, for example. SQLite then commits without waiting for the
   * disk; the next durable commit includes it. A killed process loses nothing. Postgres ignores this, because its clients may outlive it.
   */
  readonly relaxedDurability?: boolean
}

/** Kysely's queries, plus what differs between the databases. */
export interface Query extends DbParts {
  readonly sql: Kysely<Tables>
  /**
   * Selects rows by key, all keys at once; missing rows are left out. `lock` locks the rows in key order until the transaction ends.
   * On SQLite a write transaction already holds the only lock.
   * @param keys distinct.
   */
  selectMany(table: TableSpec, keys: readonly Row[], options?: { readonly lock?: boolean }): Promise<Row[]>
  /** All rows whose columns equal `where` (null equals null), in key order. */
  selectWhere(table: TableSpec, where: Row): Promise<Row[]>
  /** Up to `limitEach` rows of each submission. @param table its key begins with account and submission. */
  selectOfSubmissions(table: TableSpec, account: string, submissionIds: readonly string[], limitEach: number): Promise<Row[]>
}

/** A write transaction: a Query that can also write. Unusable once the transaction has ended. */
export interface Tx extends Query {
  /**
   * Inserts all rows. `ignore` skips rows whose key exists.
   * @returns how many were inserted.
   */
  insertMany(table: TableSpec, rows: readonly Row[], options?: { readonly ignore?: boolean }): Promise<number>
  /** Updates `columns` of the row with each given key. @returns how many rows existed. */
  updateMany(table: TableSpec, columns: readonly string[], rows: readonly Row[]): Promise<number>
  /** Runs `action` once after the commit. Nothing runs when the transaction rolls back. */
  afterCommit(action: () => void): void
  /** Notifies other processes after the commit; see `wake` in notify.ts. */
  notifyOthers(topic: Topic): void
}

/** A table as the row functions need it: name, key columns (unique together), and the kind of each column. */
export interface TableSpec {
  readonly table: string
  readonly key: readonly string[]
  readonly columns: Readonly<Record<string, ColumnKind>>
}

/** Where tests stop the process. Production passes none. */
export type FailPoint = (point: string) => void

/** What opening a database takes. */
export interface OpenOptions {
  readonly clock: Clock
  readonly log: Log
  readonly failPoint?: FailPoint | undefined
  /** Default: tax ids are dropped. */
  readonly protection?: Protection | undefined
  /** Default: true. */
  readonly listsDocuments?: boolean
}
