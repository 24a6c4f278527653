import pg from 'pg'
import { messageOf, TransientError } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import type { DatabaseConfig } from '../engine/db.ts'
import { connectionError, isReadOnly, isServerError } from './errors.ts'
import { typeParsers } from './types.ts'

export type PostgresConfig = Extract<DatabaseConfig, { kind: 'postgres' }>

const CONNECT_TIMEOUT_MS = 5_000
const STATEMENT_TIMEOUT_MS = 30_000
const LOCK_TIMEOUT_MS = 10_000
const IDLE_IN_TRANSACTION_MS = 30_000
/** When the server does not answer within its own limit, it or the way to it is gone. */
const ANSWER_TIMEOUT_MS = STATEMENT_TIMEOUT_MS + 5_000
const IDLE_MS = 60_000

/** What every connection of ours is set to. */
function settings(schema: string): [name: string, value: string][] {
  return [
    ['search_path', pg.escapeIdentifier(schema)],
    ['timezone', "'UTC'"],
    ['datestyle', "'ISO, YMD'"],
    // Whatever the server's default is: an acknowledged delivery is on disk (invariant 1).
    ['synchronous_commit', 'on'],
    ['statement_timeout', String(STATEMENT_TIMEOUT_MS)],
    ['lock_timeout', String(LOCK_TIMEOUT_MS)],
    ['idle_in_transaction_session_timeout', String(IDLE_IN_TRANSACTION_MS)],
  ]
}

/** Whatever the server's default is: who waited for a lock must see what was committed meanwhile (invariants 2 and 9). */
const ISOLATION = 'isolation level read committed'

/** One statement that sets a fresh connection up for the session. */
function sessionSettings(schema: string): string {
  const all = settings(schema).map(([name, value]) => `set ${name} = ${value}`)
  return [`set session characteristics as transaction ${ISOLATION}`, ...all].join('; ')
}

/**
 * One statement that begins a transaction and sets it up again: behind a pooler that shares connections by transaction, the session's
 * settings may be another's.
 */
export function beginStatement(schema: string, kind: 'read' | 'write' | 'patient'): string {
  const local = settings(schema).map(([name, value]) => {
    const limit = name === 'statement_timeout' || name === 'lock_timeout'
    return `set local ${name} = ${kind === 'patient' && limit ? '0' : value}`
  })
  return [`begin ${ISOLATION}`, ...(kind === 'read' ? ['set transaction read only'] : []), ...local].join('; ')
}

/** Whether the settings say that a pooler stands between: they name a way past it. */
function isPooled(config: PostgresConfig): boolean {
  return config.listenUrl.reveal() !== config.url.reveal()
}

/** Whether one does though no setting says so: the process that it named at the login is not the one that answers. */
async function isShared(client: pg.ClientBase): Promise<boolean> {
  const { rows } = await client.query<{ pid: unknown }>(limited('select pg_backend_pid() as pid'))
  return Number(rows[0]?.pid) !== (client as { readonly processID?: number | null }).processID
}

/** The first statements of a connection: a pooler takes a login by itself, and may let what follows wait for a session for ever. */
function limited(text: string): pg.QueryConfig {
  const query = { text, query_timeout: CONNECT_TIMEOUT_MS }
  return query
}

const PREPARED = /^\/\* prepared ([\w-]+) \*\//

/**
 * Marks a statement to be planned once per connection, where planning costs more than running. Only for one that has nothing to choose,
 * for the plan stays while its tables grow.
 * @param name stands for this text alone.
 */
export function prepared(name: string, text: string): string {
  return `/* prepared ${name} */ ${text}`
}

function preparedName(text: string): string | undefined {
  return text.startsWith('/* prepared') ? PREPARED.exec(text)?.[1] : undefined
}

/** Connections to one database, opened as they are needed and set up alike. */
export class PostgresPool {
  readonly #pool: pg.Pool
  /** Connections of which each transaction may meet another session of the server. */
  readonly #pooled = new WeakSet<pg.ClientBase>()
  #ending: Promise<void> | undefined

  constructor(config: PostgresConfig, max: number, log: Log) {
    const setUp = sessionSettings(config.schema)
    const pool = new pg.Pool({
      connectionString: config.url.reveal(),
      application_name: 'submission-mirror',
      max,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      idleTimeoutMillis: IDLE_MS,
      keepAlive: true,
      types: typeParsers,
      // Awaited by the pool before it hands the connection out.
      onConnect: async (client) => {
        // A connection that breaks while it is in use reports it here as well; without a listener that ends the process.
        client.on('error', () => {})
        // Behind a pooler each transaction brings its settings along, and what a session is set to would be found by others.
        if (isPooled(config) || (await isShared(client))) this.#pooled.add(client)
        else await client.query(limited(setUp))
      },
    })
    pool.on('error', (error) => log.warn(`a Postgres connection was lost: ${messageOf(error)}`))
    this.#pool = pool
  }

  /** @throws TransientError when no connection can be had within 5 s. */
  async connect(): Promise<PostgresSession> {
    try {
      const client = await this.#pool.connect()
      return new PostgresSession(client, this.#pooled.has(client))
    } catch (error) {
      throw connectionError(error)
    }
  }

  /** Waits for the connections that are in use, and closes all. */
  async close(): Promise<void> {
    this.#ending ??= this.#pool.end()
    await this.#ending
  }
}

/** A connection in use. */
export class PostgresSession {
  /** Whether a pooler stands between: then each transaction must bring its settings along, and nothing stays prepared. */
  readonly pooled: boolean
  readonly #client: pg.PoolClient
  #broken = false

  constructor(client: pg.PoolClient, pooled: boolean) {
    this.#client = client
    this.pooled = pooled
  }

  /**
   * @param patient sets no limit to the time of the answer.
   * @throws pg's DatabaseError when the server answers with one, TransientError when the connection broke.
   */
  async query(text: string, values?: readonly unknown[], patient = false): Promise<pg.QueryResult<Record<string, unknown>>> {
    if (this.#broken) throw new TransientError('The connection to Postgres was lost')
    try {
      const name = this.pooled ? undefined : preparedName(text)
      const query = {
        text,
        ...(name !== undefined && { name }),
        ...(values && { values: [...values] }),
        ...(!patient && { query_timeout: ANSWER_TIMEOUT_MS }),
      }
      return await this.#client.query<Record<string, unknown>>(query)
    } catch (error) {
      // A session keeps the default that it began with, though the server may have become writable since.
      if (!isServerError(error) || isReadOnly(error)) this.#broken = true
      throw isServerError(error) ? error : connectionError(error)
    }
  }

  /** Rolls back, unless the connection is gone, which does the same. */
  async rollback(): Promise<void> {
    if (this.#broken) return
    await this.query('rollback').catch(() => {
      this.#broken = true
    })
  }

  /** Hands the connection back; a broken one is thrown away. */
  release(): void {
    this.#client.release(this.#broken)
  }
}
