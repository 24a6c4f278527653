import type pg from 'pg'
import { TransientError } from '../../base/errors.ts'
import { connectionError, isCutWait, isReadOnly, isServerError, isUnanswered } from './errors.ts'

const PREPARED = /^\/\* prepared ([\w-]+) \*\//

/** Makes a statement prepared once per connection. Use if there is one sensible plan. @param name unique to this text. */
export function prepared(name: string, text: string): string {
  return `/* prepared ${name} */ ${text}`
}

function preparedName(text: string): string | undefined {
  return text.startsWith('/* prepared') ? PREPARED.exec(text)?.[1] : undefined
}

/** A connection, its backend, and received warnings. */
export interface Connection {
  readonly client: pg.PoolClient
  /** Whether a pooler is used. If so, transactions apply their own settings; no statement stays prepared. */
  readonly pooled: boolean
  /** Server process id, or an id from the pooler. */
  readonly backend: number
  /** Whether a commit was confirmed without the standby. */
  isWaitCut: boolean
}

/** @returns a new connection that records its warnings. */
export function observe(client: pg.PoolClient, facts: Pick<Connection, 'pooled' | 'backend'>): Connection {
  const connection: Connection = { client, ...facts, isWaitCut: false }
  client.on('notice', (notice) => {
    if (isCutWait(notice)) connection.isWaitCut = true
  })
  return connection
}

/** Condition of a returned connection. `unanswered`: a statement may still run. */
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
   * @param noTimeout disables the time limit.
   * @throws pg's DatabaseError for an error from the server; TransientError if the connection broke, or it is unknown whether a commit
   * reached the standby.
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

  /** Rolls back. The server does this for a broken connection. */
  async rollback(): Promise<void> {
    if (this.#condition !== 'good') return
    await this.query('rollback').catch(() => {
      if (this.#condition === 'good') this.#condition = 'broken'
    })
  }

  /** Returns the connection to the pool, which closes broken ones. */
  release(): void {
    this.#giveBack(this.#condition)
  }

  async #send(query: pg.QueryConfig): Promise<pg.QueryResult<Record<string, unknown>>> {
    try {
      return await this.#connection.client.query<Record<string, unknown>>(query)
    } catch (error) {
      if (isUnanswered(error)) this.#condition = 'unanswered'
      // Broken if read-only: the session stays so after the server becomes writable.
      else if (!isServerError(error) || isReadOnly(error)) this.#condition = 'broken'
      throw isServerError(error) ? error : connectionError(error)
    }
  }
}
