import { randomUUID } from 'node:crypto'
import type { Kysely } from 'kysely'
import { whenAborted } from '../../base/abortable.ts'
import { backoffMs, systemClock } from '../../base/clock.ts'
import { TransientError } from '../../base/errors.ts'
import type { Row } from '../../model/entity.ts'
import type { Db, DbParts, FailPoint, OpenOptions, Query, TableSpec, Tx, WriteOptions } from '../engine/db.ts'
import { createKysely } from '../engine/kysely.ts'
import { newParts, Parts, Statements } from '../engine/parts.ts'
import { WriteGate } from '../engine/write-gate.ts'
import type { Tables } from '../schema/tables.ts'
import { SqliteCheckpoints } from './checkpoints.ts'
import { SqliteConnection } from './connection.ts'
import { isBusy, isFailedSync, sqliteError } from './errors.ts'
import { FileIdentity } from './file-identity.ts'
import { SqliteRows } from './rows.ts'
import { WorkerConnection, WorkerTx } from './worker-thread.ts'

/**
 * Maximum time in ms that SQLite waits for a lock. This wait blocks the event loop. For longer waits, `#begin` retries.
 */
const BUSY_TIMEOUT_MS = 20
const LOCK_WAIT_MS = 5_000
const PATIENT_LOCK_WAIT_MS = 15_000
const RETRY_BASE_MS = 4
const RETRY_CAP_MS = 60

export class SqliteDb extends Parts implements Db {
  readonly processId = randomUUID()
  readonly read: Query
  readonly readNoWait: Query
  readonly #path: string
  readonly #failPoint: FailPoint | undefined
  readonly #gate = new WriteGate()
  readonly #writer: SqliteConnection
  readonly #reader: SqliteConnection
  readonly #rows: SqliteRows
  readonly #checkpoints: SqliteCheckpoints
  readonly #worker: WorkerConnection
  readonly #files: FileIdentity
  /** Whether syncing the log to the disk failed. If so, the log on disk may be incomplete. */
  #isLogDoubtful = false
  #closed = false

  /** @throws FatalError if the file is damaged. TransientError if the file can't be opened now. */
  constructor(path: string, options: OpenOptions) {
    super(newParts('sqlite', options))
    this.#path = path
    this.#failPoint = options.failPoint
    try {
      this.#writer = openWriter(path)
      this.#reader = new SqliteConnection(path, { readonly: true, timeout: BUSY_TIMEOUT_MS })
    } catch (error) {
      throw sqliteError(error, path)
    }
    this.#files = new FileIdentity(path)
    this.#rows = new SqliteRows(this.#writer)
    this.#checkpoints = new SqliteCheckpoints(path, this.#gate, options.log, (error) => this.#noteFailure(error))
    this.#worker = new WorkerConnection(path)
    this.read = new SqliteQuery(this, this.#reader, new SqliteRows(this.#reader), path)
    this.readNoWait = this.read
  }

  async write<T>(name: string, work: (tx: Tx) => Promise<T>, options: WriteOptions = {}): Promise<T> {
    const deadline = systemClock.now() + (options.noTimeout ? PATIENT_LOCK_WAIT_MS : LOCK_WAIT_MS)
    await this.#gate.enter(options.priority ?? false)
    let result: T
    let tx: SqliteTx | WorkerTx
    try {
      if (this.#closed) throw new TransientError(`${this.#path} is closed: the process is stopping`)
      this.#files.check()
      if (this.#isLogDoubtful) {
        this.#writer.restartLog()
        this.#isLogDoubtful = false
      }
      if (options.onWorkerThread) {
        tx = new WorkerTx(this, this.#worker)
        result = await this.#runOnWorker(name, tx, work)
      } else {
        this.#writer.flushCommits(!options.relaxedDurability)
        await this.#begin(deadline)
        tx = new SqliteTx(this, this.#writer, this.#rows, this.#path)
        result = await this.#runAndCommit(name, tx, work)
      }
    } catch (error) {
      this.#noteFailure(error)
      throw sqliteError(error, this.#path)
    } finally {
      this.#gate.leave()
    }
    this.#checkpoints.written()
    this.#failPoint?.(`${name}:after-commit`)
    for (const action of tx.actions) action()
    return result
  }

  async emptyLog(): Promise<boolean> {
    return !this.#closed && (await this.#checkpoints.empty())
  }

  async listen(signal: AbortSignal): Promise<void> {
    await whenAborted(signal)
  }

  async close(): Promise<void> {
    if (this.#closed) return
    await this.#gate.enter(false)
    this.#closed = true
    this.#gate.leave()
    await this.#checkpoints.close()
    await this.#worker.close()
    this.#reader.close()
    this.#writer.leaveLog()
    this.#writer.close()
  }

  #noteFailure(error: unknown): void {
    if (isFailedSync(error)) this.#isLogDoubtful = true
  }

  /**
   * Begins a transaction. Waits for locks by the system's clock, even if a test sets another clock, because other
   * processes hold the locks in real time.
   */
  async #begin(deadline: number): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      try {
        this.#writer.begin()
        return
      } catch (error) {
        if (!isBusy(error) || systemClock.now() >= deadline) throw error
      }
      await systemClock.sleep(backoffMs(systemClock, attempt, RETRY_BASE_MS, RETRY_CAP_MS))
    }
  }

  async #runOnWorker<T>(name: string, tx: WorkerTx, work: (tx: Tx) => Promise<T>): Promise<T> {
    await this.#worker.ask({ do: 'begin' })
    try {
      const result = await work(tx)
      tx.end()
      this.#failPoint?.(`${name}:before-commit`)
      await this.#worker.ask({ do: 'commit' })
      return result
    } catch (error) {
      tx.end()
      await this.#worker.ask({ do: 'rollback' })
      throw error
    }
  }

  async #runAndCommit<T>(name: string, tx: SqliteTx, work: (tx: Tx) => Promise<T>): Promise<T> {
    try {
      const result = await work(tx)
      tx.end()
      this.#failPoint?.(`${name}:before-commit`)
      this.#writer.commit()
      return result
    } catch (error) {
      tx.end()
      this.#writer.rollback()
      throw error
    }
  }
}

function openWriter(path: string): SqliteConnection {
  // The program serves no requests yet, so this connection may block the event loop.
  const connection = new SqliteConnection(path, { timeout: LOCK_WAIT_MS })
  try {
    const { database } = connection
    connection.enterLog()
    connection.flushCommits(true)
    database.pragma('foreign_keys = off')
    database.pragma('wal_autocheckpoint = 0')
    // SQLite must not write temporary files, because a container's root file system may be read-only.
    database.pragma('temp_store = memory')
    // Overwrite deleted data with zeros. Otherwise the file would still contain what a purge or `PROTECT` removed.
    database.pragma('secure_delete = on')
    database.pragma(`busy_timeout = ${BUSY_TIMEOUT_MS}`)
    return connection
  } catch (error) {
    connection.close()
    throw error
  }
}

/**
 * Opens an empty database in a temporary file, which is deleted when the connection closes. All statements run in one
 * transaction, which is never committed.
 */
export function openTemporary(parts: DbParts): { readonly tx: Tx; close(): void } {
  const connection = new SqliteConnection('', {})
  connection.begin()
  const own = new Parts({ ...new Parts(parts), kind: 'sqlite' })
  return { tx: new SqliteTx(own, connection, new SqliteRows(connection), 'a temporary database'), close: () => connection.close() }
}

class SqliteQuery extends Statements implements Query {
  readonly sql: Kysely<Tables>
  readonly #rows: SqliteRows
  readonly #path: string
  #ended = false

  constructor(db: DbParts, connection: SqliteConnection, rows: SqliteRows, path: string) {
    super(db)
    this.#rows = rows
    this.#path = path
    this.sql = createKysely('sqlite', async (query) => this.use(() => connection.run(query)))
  }

  async selectMany(table: TableSpec, keys: readonly Row[]): Promise<Row[]> {
    return this.use((rows) => rows.selectMany(table, keys))
  }

  async selectWhere(table: TableSpec, where: Row): Promise<Row[]> {
    return this.use((rows) => rows.selectWhere(table, where))
  }

  async selectOfSubmissions(table: TableSpec, account: string, submissionIds: readonly string[], limitEach: number): Promise<Row[]> {
    return this.use((rows) => submissionIds.flatMap((id) => rows.selectWhere(table, { account, submission_id: id }, limitEach)))
  }

  /** Makes later statements of this transaction fail. Otherwise they would run in another transaction. */
  end(): void {
    this.#ended = true
  }

  protected use<T>(action: (rows: SqliteRows) => T): T {
    if (this.#ended) throw new Error('this transaction has ended; await every statement in it')
    try {
      return action(this.#rows)
    } catch (error) {
      throw sqliteError(error, this.#path)
    }
  }
}

class SqliteTx extends SqliteQuery implements Tx {
  readonly actions: (() => void)[] = []
  readonly #connection: SqliteConnection

  constructor(db: DbParts, connection: SqliteConnection, rows: SqliteRows, path: string) {
    super(db, connection, rows, path)
    this.#connection = connection
  }

  async insertMany(table: TableSpec, rows: readonly Row[], options: { readonly ignore?: boolean } = {}): Promise<number> {
    return this.use((known) => known.insertMany(table, rows, options.ignore ?? false))
  }

  async updateMany(table: TableSpec, columns: readonly string[], rows: readonly Row[]): Promise<number> {
    return this.use((known) => known.updateMany(table, columns, rows))
  }

  afterCommit(action: () => void): void {
    this.actions.push(action)
  }

  notifyOthers(): void {}

  protected override use<T>(action: (rows: SqliteRows) => T): T {
    return super.use((rows) => this.#connection.step(() => action(rows)))
  }
}
