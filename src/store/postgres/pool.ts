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
/** Longer than the server's own statement limit: past it, the server or the network is gone. */
const ANSWER_TIMEOUT_MS = STATEMENT_TIMEOUT_MS + 5_000
const IDLE_MS = 60_000

/** Settings of every connection. */
function settings(schema: string): [name: string, value: string][] {
  return [
    ['search_path', pg.escapeIdentifier(schema)],
    ['timezone', "'UTC'"],
    ['datestyle', "'ISO, YMD'"],
    // Independent of the server's default: an acknowledged delivery is on disk (invariant 1).
    ['synchronous_commit', 'on'],
    ['statement_timeout', String(STATEMENT_TIMEOUT_MS)],
    ['lock_timeout', String(LOCK_TIMEOUT_MS)],
    ['idle_in_transaction_session_timeout', String(IDLE_IN_TRANSACTION_MS)],
  ]
}

/** Independent of the server's default: after waiting for a lock, a transaction must see what was committed meanwhile (invariants 2 and 9). */
const ISOLATION = 'isolation level read committed'

/** One query that sets up a new connection. */
function sessionSettings(schema: string): string {
  const all = settings(schema).map(([name, value]) => `set ${name} = ${value}`)
  return [`set session characteristics as transaction ${ISOLATION}`, ...all].join('; ')
}

/**
 * One query that begins a transaction and repeats the settings. Behind a transaction pooler the session may be another client's.
 */
export function beginStatement(schema: string, kind: 'read' | 'write' | 'no-timeout'): string {
  const local = settings(schema).map(([name, value]) => {
    const limit = name === 'statement_timeout' || name === 'lock_timeout'
    return `set local ${name} = ${kind === 'no-timeout' && limit ? '0' : value}`
  })
  return [`begin ${ISOLATION}`, ...(kind === 'read' ? ['set transaction read only'] : []), ...local].join('; ')
}

/** Whether the settings name a pooler: they give a way past it for listening. */
function isPooled(config: PostgresConfig): boolean {
  return config.listenUrl.reveal() !== config.url.reveal()
}

/** Detects a pooler that the settings do not name: the backend that answers is not the one from the login. */
async function isShared(client: pg.ClientBase): Promise<boolean> {
  const { rows } = await client.query<{ pid: unknown }>(limited('select pg_backend_pid() as pid'))
  return Number(rows[0]?.pid) !== (client as { readonly processID?: number | null }).processID
}

/** For the first statements of a connection: a pooler accepts the login itself, then may make statements wait for ever. */
function limited(text: string): pg.QueryConfig {
  return { text, query_timeout: CONNECT_TIMEOUT_MS } as pg.QueryConfig
}

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

/** Connections to one database, opened on demand and set up alike. */
export class PostgresPool {
  readonly #pool: pg.Pool
  /** Connections behind a pooler: each transaction may get another session of the server. */
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
      // The pool awaits this before it hands the connection out.
      onConnect: async (client) => {
        // A connection that breaks while in use reports it here too. Without a listener that would end the process.
        client.on('error', () => {})
        // Behind a pooler each transaction sets itself up; session settings would leak to other clients.
        if (isPooled(config) || (await isShared(client))) this.#pooled.add(client)
        else await client.query(limited(setUp))
      },
    })
    pool.on('error', (error) => log.warn(`a Postgres connection was lost: ${messageOf(error)}`))
    this.#pool = pool
  }

  /** @throws TransientError when no connection is free within 5 s. */
  async connect(): Promise<PostgresSession> {
    try {
      const client = await this.#pool.connect()
      return new PostgresSession(client, this.#pooled.has(client))
    } catch (error) {
      throw connectionError(error)
    }
  }

  /** Waits for connections in use, then closes all. */
  async close(): Promise<void> {
    this.#ending ??= this.#pool.end()
    await this.#ending
  }
}

/** A connection in use. */
export class PostgresSession {
  /** Whether a pooler stands between: each transaction must then set itself up, and nothing stays prepared. */
  readonly pooled: boolean
  readonly #client: pg.PoolClient
  #broken = false

  constructor(client: pg.PoolClient, pooled: boolean) {
    this.#client = client
    this.pooled = pooled
  }

  /**
   * @param noTimeout lets the server take as long as it needs.
   * @throws pg's DatabaseError when the server answers with one, TransientError when the connection broke.
   */
  async query(text: string, values?: readonly unknown[], noTimeout = false): Promise<pg.QueryResult<Record<string, unknown>>> {
    if (this.#broken) throw new TransientError('The connection to Postgres was lost')
    try {
      const name = this.pooled ? undefined : preparedName(text)
      const query = {
        text,
        ...(name !== undefined && { name }),
        ...(values && { values: [...values] }),
        ...(!noTimeout && { query_timeout: ANSWER_TIMEOUT_MS }),
      }
      return await this.#client.query<Record<string, unknown>>(query)
    } catch (error) {
      // A session keeps its read-only default even after the server has become writable.
      if (!isServerError(error) || isReadOnly(error)) this.#broken = true
      throw isServerError(error) ? error : connectionError(error)
    }
  }

  /** Rolls back. A broken connection needs none: the server rolls back itself. */
  async rollback(): Promise<void> {
    if (this.#broken) return
    await this.query('rollback').catch(() => {
      this.#broken = true
    })
  }

  /** Returns the connection to the pool; a broken one is closed. */
  release(): void {
    this.#client.release(this.#broken)
  }
}
