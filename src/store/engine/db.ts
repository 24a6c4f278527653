import type { Kysely } from 'kysely'
import type { Clock } from '../../base/clock.ts'
import type { Config } from '../../config/config.ts'
import type { ColumnKind, Row } from '../../model/entity.ts'
import type { Tables } from '../schema/tables.ts'
import type { Signals, Topic } from './signals.ts'

/**
 * One database, SQLite or Postgres. Everything above `store/` sees rows in the same shape from both (see `ColumnKind`):
 * times as TimeText, booleans as booleans, JSON as values, bigint as number.
 */
export interface Db {
  readonly kind: 'sqlite' | 'postgres'
  /** A uuid, another one each time that the database is opened: whose claims are made through it. */
  readonly processId: string
  readonly clock: Clock
  readonly signals: Signals
  /** For reading outside a transaction. On SQLite a connection of its own, so that a reader never waits for a writer. */
  readonly read: Query
  /**
   * Runs `work` in one write transaction and commits it. `work` awaits nothing but the store (invariant 13).
   * SQLite: `begin immediate` on the one writing connection; transactions queue, those with `first` before the others; a lock
   * held by another process is waited for asynchronously. Postgres: one pooled connection, `synchronous_commit = on`.
   * `work` may run more than once: Postgres ends one of two transactions that wait for each other, and it is begun again. So it
   * keeps nothing outside itself before it returns.
   * @param name what the transaction is for; tests stop the process at `<name>:before-commit` and `<name>:after-commit`.
   * @throws TransientError when the database is away, locked for too long, full, or when it cannot be known whether the
   * commit took place. Whatever `work` throws rolls back and is thrown on.
   */
  write<T>(name: string, work: (tx: Tx) => Promise<T>, options?: WriteOptions): Promise<T>
  /**
   * Hears what other processes notify and hands it to `signals`, until `signal` aborts; connects again by itself, and notifies
   * every topic when it has, for what was missed. On SQLite, where one process serves, it only waits for `signal`.
   */
  listen(signal: AbortSignal): Promise<void>
  /** Waits for what is running, then closes every connection. */
  close(): Promise<void>
}

/** Where the database is, as the settings say. */
export type DatabaseConfig = Config['database']

export interface WriteOptions {
  /** Goes before the other transactions that wait in this process; the receiver's appends do. */
  readonly priority?: boolean
  /**
   * `work` is one statement and no more. On Postgres it is then its own transaction, in a single round trip: each trip waits for a
   * turn of a busy event loop.
   */
  readonly singleStatement?: boolean
  /** Waits long for locks and sets no limit to a statement: for migrations. */
  readonly noTimeout?: boolean
  /**
   * On SQLite the statements run in a thread of their own, while the other transactions wait and the event loop does not: for upkeep,
   * which touches much that nobody has in mind.
   */
  readonly onWorkerThread?: boolean
  /**
   * A failure of the power may forget it without harm, such as a lease that nobody is left to hold. On SQLite its commit then does not
   * wait for the disk; the next one that does takes it along. The death of a process forgets nothing. On Postgres, whose clients may
   * outlive it, it makes no difference.
   */
  readonly relaxedDurability?: boolean
}

/** Queries of kysely, plus the differences between the databases that queries need. */
export interface Query {
  readonly sql: Kysely<Tables>
  readonly kind: 'sqlite' | 'postgres'
  readonly clock: Clock
  readonly signals: Signals
  /**
   * Rows by key, for all keys at once; rows that do not exist are left out. With `lock` the rows are locked in key order until the
   * transaction ends (SQLite: the transaction has the only lock already).
   * @param keys distinct.
   */
  selectMany(table: TableSpec, keys: readonly Row[], options?: { readonly lock?: boolean }): Promise<Row[]>
  /** All rows whose columns equal those of `where` (null equals null), in key order. */
  selectWhere(table: TableSpec, where: Row): Promise<Row[]>
  /** The rows of each of these submissions, at most `limitEach` of each. @param table its key begins with account and submission. */
  selectOfSubmissions(table: TableSpec, account: string, submissionIds: readonly string[], limitEach: number): Promise<Row[]>
}

/** A write transaction: everything a Query can, and writing. It is of no use after its transaction ended. */
export interface Tx extends Query {
  /**
   * Inserts all rows. With `ignore` those whose key exists already are passed over.
   * @returns how many were inserted.
   */
  insertMany(table: TableSpec, rows: readonly Row[], options?: { readonly ignore?: boolean }): Promise<number>
  /** Updates `columns` of the row that has each given row's key. @returns how many rows there were. */
  updateMany(table: TableSpec, columns: readonly string[], rows: readonly Row[]): Promise<number>
  /** To run once, after the commit: for signals. Nothing runs when the transaction rolls back. */
  afterCommit(action: () => void): void
  /** Tells other processes after the commit; see `wake` in notify.ts. */
  notifyOthers(topic: Topic): void
}

/** A table as the row functions need it: name, key columns (which must be unique together), kind of each column. */
export interface TableSpec {
  readonly table: string
  readonly key: readonly string[]
  readonly columns: Readonly<Record<string, ColumnKind>>
}

/** Where tests stop the process; the product itself passes none. */
export type FailPoint = (point: string) => void
