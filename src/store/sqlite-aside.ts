import { Worker } from 'node:worker_threads'
import Database from 'better-sqlite3'
import type { CompiledQuery, Kysely, QueryResult } from 'kysely'
import type { Clock } from '../clock.ts'
import { messageOf, TransientError } from '../errors.ts'
import type { Row } from '../model/entities.ts'
import type { TableSpec, Tx } from './db.ts'
import { kyselyOver } from './kysely-over.ts'
import type { Signals } from './signals.ts'
import type { Tables } from './tables.ts'

/** What the worker thread is asked to do: one at a time, in the order in which it is asked. */
export type AsideOrder =
  | { readonly do: 'exec'; readonly text: string }
  | { readonly do: 'run'; readonly query: Pick<CompiledQuery, 'sql' | 'parameters'> }
  | { readonly do: 'selectMany'; readonly table: TableSpec; readonly keys: readonly Row[] }
  | { readonly do: 'selectWhere'; readonly table: TableSpec; readonly where: Row; readonly limit?: number }
  | { readonly do: 'insertMany'; readonly table: TableSpec; readonly rows: readonly Row[]; readonly ignore: boolean }
  | { readonly do: 'updateMany'; readonly table: TableSpec; readonly columns: readonly string[]; readonly rows: readonly Row[] }
  | { readonly do: 'close' }

/** `code`: SQLite's, when the error is one of its. */
export type AsideAnswer = { readonly value: unknown } | { readonly problem: string; readonly code: string | null }

/**
 * One more connection to a SQLite database, in a worker thread: for what takes its time and must not hold up the event loop, such as
 * retention (invariant 13). Whoever writes through it holds the gate, so that it is still one writer at a time.
 */
export class AsideConnection {
  readonly #path: string
  #worker: Worker | null = null
  readonly #waiting: PromiseWithResolvers<unknown>[] = []

  constructor(path: string) {
    this.#path = path
  }

  /** @throws SqliteError as the connection throws it; TransientError when the thread has ended. */
  async ask<T>(order: AsideOrder): Promise<T> {
    this.#worker ??= this.#start()
    const answer = Promise.withResolvers<unknown>()
    this.#waiting.push(answer)
    this.#worker.postMessage(order)
    return (await answer.promise) as T
  }

  /** Closes the connection and ends the thread, if there is one. */
  async close(): Promise<void> {
    const worker = this.#worker
    if (worker === null) return
    worker.ref()
    await this.ask({ do: 'close' }).catch(() => undefined)
    await worker.terminate()
  }

  #start(): Worker {
    // Run from its source the program's files end in .ts, built ones in .js.
    const file = import.meta.url.endsWith('.ts') ? './sqlite-aside-worker.ts' : './sqlite-aside-worker.js'
    const worker = new Worker(new URL(file, import.meta.url), { workerData: this.#path })
    worker.unref()
    let why = 'it ended'
    worker.on('message', (answer: AsideAnswer) => {
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
        waiting.reject(new TransientError(`the thread that works on ${this.#path} aside failed: ${why}`))
      }
    })
    return worker
  }
}

/** A transaction of that connection. */
export class AsideTx implements Tx {
  readonly sql: Kysely<Tables>
  readonly kind = 'sqlite'
  readonly clock: Clock
  readonly signals: Signals
  readonly actions: (() => void)[] = []
  readonly #connection: AsideConnection
  #ended = false

  constructor(db: { readonly clock: Clock; readonly signals: Signals }, connection: AsideConnection) {
    this.clock = db.clock
    this.signals = db.signals
    this.#connection = connection
    this.sql = kyselyOver('sqlite', ({ sql, parameters }) => this.#ask<QueryResult<unknown>>({ do: 'run', query: { sql, parameters } }))
  }

  selectMany(table: TableSpec, keys: readonly Row[]): Promise<Row[]> {
    return this.#ask({ do: 'selectMany', table, keys })
  }

  selectWhere(table: TableSpec, where: Row): Promise<Row[]> {
    return this.#ask({ do: 'selectWhere', table, where })
  }

  async selectOfSubmissions(table: TableSpec, account: string, submissionIds: readonly string[], limit: number): Promise<Row[]> {
    const found: Row[] = []
    for (const submission_id of submissionIds) {
      found.push(...(await this.#ask<Row[]>({ do: 'selectWhere', table, where: { account, submission_id }, limit })))
    }
    return found
  }

  insertMany(table: TableSpec, rows: readonly Row[], options: { readonly ignore?: boolean } = {}): Promise<number> {
    return this.#ask({ do: 'insertMany', table, rows, ignore: options.ignore ?? false })
  }

  updateMany(table: TableSpec, columns: readonly string[], rows: readonly Row[]): Promise<number> {
    return this.#ask({ do: 'updateMany', table, columns, rows })
  }

  afterCommit(action: () => void): void {
    this.actions.push(action)
  }

  notifyOthers(): void {}

  /** From here on nothing more may come: it would run in whichever transaction is open then. */
  end(): void {
    this.#ended = true
  }

  async #ask<T>(order: AsideOrder): Promise<T> {
    if (this.#ended) throw new Error('This transaction has ended: everything in it must be awaited')
    return await this.#connection.ask<T>(order)
  }
}
