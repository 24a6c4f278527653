import { randomUUID } from 'node:crypto'
import type { CompiledQuery, Kysely, QueryResult } from 'kysely'
import type pg from 'pg'
import { backoffMs, systemClock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import { OnceAMinute } from '../../base/once-a-minute.ts'
import type { Row } from '../../model/entity.ts'
import type { Db, FailPoint, OpenOptions, Query, TableSpec, Tx, WriteOptions } from '../engine/db.ts'
import { createKysely } from '../engine/kysely.ts'
import { newParts, Parts, Statements } from '../engine/parts.ts'
import type { Topic } from '../engine/signals.ts'
import type { Tables } from '../schema/tables.ts'
import { commitUnknown, isRetryable, isServerError, postgresError } from './errors.ts'
import { PostgresListener } from './listener.ts'
import { PostgresNotifier } from './notifier.ts'
import { type PostgresConfig, PostgresPool } from './pool.ts'
import type { RunText } from './rows.ts'
import * as rows from './rows.ts'
import { PostgresServers } from './servers.ts'
import type { PostgresSession } from './session.ts'
import { ANSWER_TIMEOUT_MS, beginStatement, SHORT_LOCK_TIMEOUT_MS } from './session-settings.ts'

const MAX_CONNECTIONS = 8
/**
 * Connections that only `priority` transactions use. Storing a delivery therefore doesn't wait until workers return
 * connections.
 */
const FIRST_CONNECTIONS = 2
/** Time limit in ms for answers on connections for deliveries and reports. A delivery gets 503 after 8 s anyway. */
const FIRST_ANSWER_TIMEOUT_MS = 10_000
const REPORT_CONNECTIONS = 2
const MAX_ATTEMPTS = 5
const RETRY_BASE_MS = 10
const RETRY_CAP_MS = 200

export class PostgresDb extends Parts implements Db {
  readonly processId = randomUUID()
  readonly read: Query
  readonly readNoWait: Query
  readonly #config: PostgresConfig
  readonly #log: Log
  readonly #failPoint: FailPoint | undefined
  readonly #pool: PostgresPool
  readonly #firstPool: PostgresPool
  readonly #reportPool: PostgresPool
  readonly #notifier: PostgresNotifier

  constructor(config: PostgresConfig, options: OpenOptions) {
    super(newParts('postgres', options))
    this.#config = config
    this.#log = options.log
    this.#failPoint = options.failPoint
    const split = new OnceAMinute(systemClock, (text) => options.log.warn(text))
    const servers = new PostgresServers(config.url, (text) => split.tell(text))
    const lost = new OnceAMinute(systemClock, (text) => options.log.warn(text))
    this.#pool = new PostgresPool(config, servers, { max: MAX_CONNECTIONS, answerTimeoutMs: ANSWER_TIMEOUT_MS }, lost)
    this.#firstPool = new PostgresPool(config, servers, { max: FIRST_CONNECTIONS, answerTimeoutMs: FIRST_ANSWER_TIMEOUT_MS }, lost)
    const ofReports = { max: REPORT_CONNECTIONS, answerTimeoutMs: FIRST_ANSWER_TIMEOUT_MS, lockTimeoutMs: SHORT_LOCK_TIMEOUT_MS }
    this.#reportPool = new PostgresPool(config, servers, ofReports, lost)
    this.#notifier = new PostgresNotifier(this.#pool, config.schema, options.log)
    this.read = new PostgresQuery(this, readerOf(this.#pool, config))
    this.readNoWait = new PostgresQuery(this, readerOf(this.#reportPool, config))
  }

  async write<T>(name: string, work: (tx: Tx) => Promise<T>, options: WriteOptions = {}): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#writeOnce(name, work, options)
      } catch (error) {
        if (!isRetryable(error) || attempt >= MAX_ATTEMPTS) throw postgresError(error)
      }
      await systemClock.sleep(backoffMs(systemClock, attempt, RETRY_BASE_MS, RETRY_CAP_MS))
    }
  }

  async emptyLog(): Promise<boolean> {
    return true
  }

  listen(signal: AbortSignal): Promise<void> {
    return new PostgresListener(this.#config, this.signals, this.#log).run(signal)
  }

  async close(): Promise<void> {
    await this.#notifier.close()
    await Promise.all([this.#pool.close(), this.#firstPool.close(), this.#reportPool.close()])
  }

  async #writeOnce<T>(name: string, work: (tx: Tx) => Promise<T>, options: WriteOptions): Promise<T> {
    const session = await (options.priority ? this.#firstPool : this.#pool).connect()
    try {
      const noTimeout = options.noTimeout ?? false
      const run: RunText = (text, values) => session.query(text, values, noTimeout)
      // Behind a pooler, even a single statement needs a transaction, because `begin` applies the settings.
      const alone = options.singleStatement === true && !session.pooled
      const tx = new PostgresTx(this, alone ? once(name, run) : run)
      const begin = beginStatement(this.#config.schema, noTimeout ? 'no-timeout' : 'write')
      const beginAndWork = () => session.query(begin, undefined, noTimeout).then(() => work(tx))
      const result = alone ? await this.#runSingle(name, tx, work) : await this.#runAndCommit(name, session, tx, beginAndWork)
      this.#failPoint?.(`${name}:after-commit`)
      for (const action of tx.actions) action()
      for (const topic of tx.topics) this.#notifier.notify(topic)
      return result
    } finally {
      session.release()
    }
  }

  async #runSingle<T>(name: string, tx: PostgresTx, work: (tx: Tx) => Promise<T>): Promise<T> {
    this.#failPoint?.(`${name}:before-commit`)
    try {
      return await work(tx)
    } catch (error) {
      throw isServerError(error) ? error : commitUnknown(error)
    } finally {
      tx.end()
    }
  }

  /** @param begin begins the transaction and does the work. If `begin` fails, the transaction is rolled back. */
  async #runAndCommit<T>(name: string, session: PostgresSession, tx: PostgresTx, begin: () => Promise<T>): Promise<T> {
    let result: T
    try {
      result = await begin()
      tx.end()
      this.#failPoint?.(`${name}:before-commit`)
    } catch (error) {
      tx.end()
      await session.rollback()
      throw error
    }
    await commit(session)
    return result
  }
}

async function commit(session: PostgresSession): Promise<void> {
  let command: string
  try {
    command = (await session.query('commit')).command
  } catch (error) {
    // If the server reports an error, nothing was committed. If the connection broke, the outcome of the
    // commit is unknown.
    if (isServerError(error)) throw error
    throw commitUnknown(error)
  }
  if (command !== 'COMMIT') throw new Error('a statement failed and the transaction continued, so it was rolled back')
}

function once(name: string, run: RunText): RunText {
  let ran = false
  return (text, values) => {
    if (ran) return Promise.reject(new Error(`${name} ran a second statement in a single-statement transaction`))
    ran = true
    return run(text, values)
  }
}

/** @returns a function that runs each statement on any free connection. */
function readerOf(pool: PostgresPool, config: PostgresConfig): RunText {
  // Behind a pooler, a connection may have other settings. Each statement then runs in its own transaction, which
  // begins by applying the settings.
  const begin = beginStatement(config.schema, 'read', pool.lockTimeoutMs)
  return async (text, values) => {
    const session = await pool.connect()
    try {
      if (!session.pooled) return await session.query(text, values)
      await session.query(begin)
      const result = await session.query(text, values)
      await session.query('commit')
      return result
    } catch (error) {
      if (session.pooled) await session.rollback()
      throw postgresError(error)
    } finally {
      session.release()
    }
  }
}

class PostgresQuery extends Statements implements Query {
  readonly sql: Kysely<Tables>
  protected readonly runText: RunText
  #ended = false

  constructor(db: PostgresDb, run: RunText) {
    super(db)
    this.runText = async (text, values) => {
      if (this.#ended) throw new Error('this transaction has ended; await every statement in it')
      return run(text, values)
    }
    this.sql = createKysely('postgres', async (query) => resultOf(await this.runText(query.sql, query.parameters), query))
  }

  selectMany(table: TableSpec, keys: readonly Row[], options: { readonly lock?: boolean } = {}): Promise<Row[]> {
    return rows.selectMany(this.runText, table, keys, options.lock ?? false)
  }

  selectWhere(table: TableSpec, where: Row): Promise<Row[]> {
    return rows.selectWhere(this.runText, table, where)
  }

  selectOfSubmissions(table: TableSpec, account: string, submissionIds: readonly string[], limitEach: number): Promise<Row[]> {
    return rows.selectOfSubmissions(this.runText, table, account, submissionIds, limitEach)
  }

  /**
   * Makes later statements of this transaction fail. Otherwise such a statement could run in the next transaction on
   * the same connection.
   */
  end(): void {
    this.#ended = true
  }
}

class PostgresTx extends PostgresQuery implements Tx {
  readonly actions: (() => void)[] = []
  readonly topics = new Set<Topic>()

  insertMany(table: TableSpec, given: readonly Row[], options: { readonly ignore?: boolean } = {}): Promise<number> {
    return rows.insertMany(this.runText, table, given, options.ignore ?? false)
  }

  updateMany(table: TableSpec, columns: readonly string[], given: readonly Row[]): Promise<number> {
    return rows.updateMany(this.runText, table, columns, given)
  }

  afterCommit(action: () => void): void {
    this.actions.push(action)
  }

  notifyOthers(topic: Topic): void {
    this.topics.add(topic)
  }
}

function resultOf(result: pg.QueryResult<Record<string, unknown>>, query: CompiledQuery): QueryResult<unknown> {
  const writes = query.query.kind !== 'SelectQueryNode' && result.command !== 'SELECT'
  return { rows: result.rows, ...(writes && { numAffectedRows: BigInt(result.rowCount ?? 0) }) }
}
