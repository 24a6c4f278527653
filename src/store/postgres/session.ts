import type pg from 'pg'
import { TransientError } from '../../base/errors.ts'
import { connectionError, isCutWait, isReadOnly, isServerError, isUnanswered } from './errors.ts'

const PREPARED = /^\/\* prepared ([\w-]+) \*\//

/**
 * Marks a statement for preparing once per connection, where planning costs more than running. Only for statements with a single sensible
 * plan: the plan stays while the tables grow.
 * @param name unique to this text.
 */
export function prepared(name: string, text: string): string {
  return `/* prepared ${name} */ ${text}`
}

function preparedName(text: string): string | undefined {
  return text.startsWith('/* prepared') ? PREPARED.exec(text)?.[1] : undefined
}

/** What a connection leads to, and what was heard on it. */
export interface Connection {
  readonly client: pg.PoolClient
  /** Whether a pooler stands between: each transaction must then set itself up, and nothing stays prepared. */
  readonly pooled: boolean
  /** Of the server's process; a pooler gives one of its own. */
  readonly backend: number
  /** Whether a commit was reported done that did not wait for the standby to the end. */
  isWaitCut: boolean
}

/** @returns the state of a new connection, which notes from now on what the server warns of. */
export function observe(client: pg.PoolClient, facts: Pick<Connection, 'pooled' | 'backend'>): Connection {
  const connection: Connection = { client, ...facts, isWaitCut: false }
  client.on('notice', (notice) => {
    if (isCutWait(notice)) connection.isWaitCut = true
  })
  return connection
}

/** How a connection comes back after use. `unanswered`: its last statement may still be running. */
export type Condition = 'good' | 'broken' | 'unanswered'

/** A connection in use. */
export class PostgresSession {
  readonly pooled: boolean
  readonly #connection: Connection
  readonly #answerTimeoutMs: number
  readonly #giveBack: (condition: Condition) => void
  #condition: Condition = 'good'

  constructor(connection: Connection, answerTimeoutMs: number, giveBack: (condition: Condition) => void) {
    this.#connection = connection
    this.#answerTimeoutMs = answerTimeoutMs
    this.#giveBack = giveBack
    this.pooled = connection.pooled
  }

  /**
   * @param noTimeout lets the server take as long as it needs.
   * @throws pg's DatabaseError when the server answers with one, TransientError when the connection broke, or when it is unknown whether
   * what was committed is on the standby too.
   */
  async query(text: string, values?: readonly unknown[], noTimeout = false): Promise<pg.QueryResult<Record<string, unknown>>> {
    if (this.#condition !== 'good') throw new TransientError('The connection to Postgres was lost')
    const name = this.pooled ? undefined : preparedName(text)
    const query = {
      text,
      ...(name !== undefined && { name }),
      ...(values && { values: [...values] }),
      ...(!noTimeout && { query_timeout: this.#answerTimeoutMs }),
    }
    this.#connection.isWaitCut = false
    const result = await this.#send(query)
    if (this.#connection.isWaitCut) throw new TransientError('its wait for the standby server was cancelled')
    return result
  }

  /** Rolls back. A broken connection needs none: the server rolls back itself. */
  async rollback(): Promise<void> {
    if (this.#condition !== 'good') return
    await this.query('rollback').catch(() => {
      if (this.#condition === 'good') this.#condition = 'broken'
    })
  }

  /** Returns the connection to the pool; a broken one is closed. */
  release(): void {
    this.#giveBack(this.#condition)
  }

  async #send(query: pg.QueryConfig): Promise<pg.QueryResult<Record<string, unknown>>> {
    try {
      return await this.#connection.client.query<Record<string, unknown>>(query)
    } catch (error) {
      if (isUnanswered(error)) this.#condition = 'unanswered'
      // A session keeps its read-only default even after the server has become writable.
      else if (!isServerError(error) || isReadOnly(error)) this.#condition = 'broken'
      throw isServerError(error) ? error : connectionError(error)
    }
  }
}
