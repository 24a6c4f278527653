import type pg from 'pg'
import { TransientError } from '../../base/errors.ts'
import { connectionError, isCutWait, isReadOnly, isServerError, isUnanswered } from './errors.ts'

const PREPARED = /^\/\* prepared ([\w-]+) \*\//

/**
 * Marks a statement to be prepared once on each connection. Use this only if the same query plan suits all values.
 * @param name a name that only this text has.
 */
export function prepared(name: string, text: string): string {
  return `/* prepared ${name} */ ${text}`
}

function preparedName(text: string): string | undefined {
  return text.startsWith('/* prepared') ? PREPARED.exec(text)?.[1] : undefined
}

/** A connection of the pool, and what is known about it. */
export interface Connection {
  readonly client: pg.PoolClient
  /**
   * Whether a pooler is between the program and the server. If so, each transaction applies its own settings, and
   * statements aren't kept prepared.
   */
  readonly pooled: boolean
  /** Process id of the server's backend, or an id that a pooler made up. */
  readonly backend: number
  /** Whether the server confirmed the commit of the last statement without waiting for the standby. */
  isWaitCut: boolean
}

/**
 * @returns the state of a new connection. Watches the connection's notices for commits that didn't wait for the
 * standby.
 */
export function observe(client: pg.PoolClient, facts: Pick<Connection, 'pooled' | 'backend'>): Connection {
  const connection: Connection = { client, ...facts, isWaitCut: false }
  client.on('notice', (notice) => {
    if (isCutWait(notice)) connection.isWaitCut = true
  })
  return connection
}

/** Condition of a connection when it is returned. `unanswered`: the last statement got no answer and may still run. */
export type Condition = 'good' | 'broken' | 'unanswered'

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
   * Runs a statement.
   * @param noTimeout true for no time limit.
   * @throws pg's DatabaseError if the server reports an error. TransientError if the connection broke, or if the server
   * confirmed a commit without waiting for the standby.
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
    if (this.#connection.isWaitCut) throw new TransientError('the wait for the standby server was canceled')
    return result
  }

  /**
   * Rolls the transaction back. Does nothing on a broken connection, because the server rolls back its transaction
   * anyway.
   */
  async rollback(): Promise<void> {
    if (this.#condition !== 'good') return
    await this.query('rollback').catch(() => {
      if (this.#condition === 'good') this.#condition = 'broken'
    })
  }

  /** Returns the connection to the pool. The pool closes a broken connection. */
  release(): void {
    this.#giveBack(this.#condition)
  }

  async #send(query: pg.QueryConfig): Promise<pg.QueryResult<Record<string, unknown>>> {
    try {
      return await this.#connection.client.query<Record<string, unknown>>(query)
    } catch (error) {
      if (isUnanswered(error)) this.#condition = 'unanswered'
      // Treat a connection as broken if a write failed because its session is read-only. The session may stay read-only
      // even after the server accepts writes again.
      else if (!isServerError(error) || isReadOnly(error)) this.#condition = 'broken'
      throw isServerError(error) ? error : connectionError(error)
    }
  }
}
