import { Worker } from 'node:worker_threads'
import Database from 'better-sqlite3'
import type { CompiledQuery, Kysely, QueryResult } from 'kysely'
import { messageOf, TransientError } from '../../base/errors.ts'
import type { Row } from '../../model/entity.ts'
import type { DbParts, Query, TableSpec, Tx } from '../engine/db.ts'
import { createKysely } from '../engine/kysely.ts'
import { Statements } from '../engine/parts.ts'
import type { Tables } from '../schema/tables.ts'
import { sqliteError } from './errors.ts'

/** A request to the worker thread. The thread answers requests in order. */
export type WorkerRequest = WorkerStep & {
  /**
   * Whether the request is part of a transaction. If an error or a restart of the thread ended that transaction, the
   * request fails.
   */
  readonly inTransaction?: boolean
}

type WorkerStep =
  | { readonly do: 'begin' | 'commit' | 'rollback' }
  | { readonly do: 'run'; readonly query: Pick<CompiledQuery, 'sql' | 'parameters'> }
  | { readonly do: 'selectMany'; readonly table: TableSpec; readonly keys: readonly Row[] }
  | { readonly do: 'selectWhere'; readonly table: TableSpec; readonly where: Row; readonly limit?: number }
  | { readonly do: 'insertMany'; readonly table: TableSpec; readonly rows: readonly Row[]; readonly ignore: boolean }
  | { readonly do: 'updateMany'; readonly table: TableSpec; readonly columns: readonly string[]; readonly rows: readonly Row[] }
  | { readonly do: 'close' }

/** Answer of the worker thread. `code`: SQLite's error code; null if the error isn't from SQLite. */
export type WorkerAnswer = { readonly value: unknown } | { readonly problem: string; readonly code: string | null }

/**
 * A connection to a SQLite database in a worker thread. For long work that must not block the event loop, such as
 * retention. A caller that writes must hold the write gate, because SQLite allows only one writer at a time.
 */
export class WorkerConnection {
  readonly path: string
  #worker: Worker | null = null
  readonly #waiting: PromiseWithResolvers<unknown>[] = []

  constructor(path: string) {
    this.path = path
  }

  /**
   * Sends a request to the thread and waits for the answer.
   * @throws SqliteError if SQLite rejects the request. TransientError if the thread ended.
   */
  async ask<T>(request: WorkerRequest): Promise<T> {
    this.#worker ??= this.#start()
    const answer = Promise.withResolvers<unknown>()
    this.#waiting.push(answer)
    this.#worker.postMessage(request)
    return (await answer.promise) as T
  }

  async close(): Promise<void> {
    const worker = this.#worker
    if (worker === null) return
    worker.ref()
    await this.ask({ do: 'close' }).catch(() => undefined)
    await worker.terminate()
  }

  #start(): Worker {
    const file = import.meta.url.endsWith('.ts') ? './worker-main.ts' : './worker-main.js'
    const worker = new Worker(new URL(file, import.meta.url), { workerData: this.path })
    worker.unref()
    let why = 'it ended'
    worker.on('message', (answer: WorkerAnswer) => {
      const waiting = this.#waiting.shift()
      if ('value' in answer) waiting?.resolve(answer.value)
      else waiting?.reject(answer.code === null ? new Error(answer.problem) : new Database.SqliteError(answer.problem, answer.code))
    })
    worker.on('error', (error) => {
      why = messageOf(error)
    })
    worker.on('exit', () => {
      this.#worker = null
      for (const waiting of this.#waiting.splice(0)) {
        waiting.reject(new TransientError(`the worker thread for ${this.path} failed: ${why}`))
      }
    })
    return worker
  }
}

export class WorkerQuery extends Statements implements Query {
  readonly sql: Kysely<Tables>
  readonly #connection: WorkerConnection

  constructor(db: DbParts, connection: WorkerConnection) {
    super(db)
    this.#connection = connection
    this.sql = createKysely('sqlite', async ({ sql, parameters }) => {
      const result = await this.ask<QueryResult<Record<string, unknown>>>({ do: 'run', query: { sql, parameters } })
      return { ...result, rows: result.rows.map(withBuffers) }
    })
  }

  selectMany(table: TableSpec, keys: readonly Row[]): Promise<Row[]> {
    return this.ask({ do: 'selectMany', table, keys })
  }

  selectWhere(table: TableSpec, where: Row): Promise<Row[]> {
    return this.ask({ do: 'selectWhere', table, where })
  }

  async selectOfSubmissions(table: TableSpec, account: string, submissionIds: readonly string[], limit: number): Promise<Row[]> {
    const rows: Row[] = []
    for (const submission_id of submissionIds) {
      rows.push(...(await this.ask<Row[]>({ do: 'selectWhere', table, where: { account, submission_id }, limit })))
    }
    return rows
  }

  protected async ask<T>(request: WorkerRequest): Promise<T> {
    try {
      return await this.#connection.ask<T>(request)
    } catch (error) {
      throw sqliteError(error, this.#connection.path)
    }
  }
}

export class WorkerTx extends WorkerQuery implements Tx {
  readonly actions: (() => void)[] = []
  #ended = false

  insertMany(table: TableSpec, rows: readonly Row[], options: { readonly ignore?: boolean } = {}): Promise<number> {
    return this.ask({ do: 'insertMany', table, rows, ignore: options.ignore ?? false })
  }

  updateMany(table: TableSpec, columns: readonly string[], rows: readonly Row[]): Promise<number> {
    return this.ask({ do: 'updateMany', table, columns, rows })
  }

  afterCommit(action: () => void): void {
    this.actions.push(action)
  }

  notifyOthers(): void {}

  /** Makes later statements of this transaction fail. Otherwise they would run in another transaction. */
  end(): void {
    this.#ended = true
  }

  protected override async ask<T>(request: WorkerRequest): Promise<T> {
    if (this.#ended) throw new Error('this transaction has ended; await every statement in it')
    return await super.ask<T>({ ...request, inTransaction: true })
  }
}

/** Makes each byte value a Buffer again. Messages between threads turn a Buffer into a Uint8Array. */
function withBuffers(row: Record<string, unknown>): Record<string, unknown> {
  for (const [name, value] of Object.entries(row)) {
    if (value instanceof Uint8Array) row[name] = Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  }
  return row
}
