import pg from 'pg'
import type { OnceAMinute } from '../../base/once-a-minute.ts'
import type { ServerUrl } from '../../base/postgres-url.ts'
import type { DatabaseConfig } from '../engine/db.ts'
import { allUnanswered, connectionError } from './errors.ts'
import { CONNECT_TIMEOUT_MS, limited } from './server-roles.ts'
import type { PostgresServers } from './servers.ts'
import { type Condition, type Connection, observe, PostgresSession } from './session.ts'
import { sessionSettings } from './session-settings.ts'
import { typeParsers } from './types.ts'
import { UnansweredConnections } from './unanswered.ts'

export type PostgresConfig = Extract<DatabaseConfig, { kind: 'postgres' }>

const IDLE_MS = 60_000
/**
 * Maximum age of a connection in s. If the server's default for `synchronous_commit` becomes stricter, only new
 * connections use the new default.
 */
const MAX_LIFETIME_S = 600

/**
 * @returns whether the settings name a pooler. Such settings have a separate URL for listening, which avoids the
 * pooler.
 */
function isPooled(config: PostgresConfig): boolean {
  return config.listenUrl.reveal() !== config.url.reveal()
}

export interface PoolLimits {
  readonly max: number
  /** Time limit in ms for the server's answer to a statement. */
  readonly answerTimeoutMs: number
  /** Time limit for waiting for a lock, in ms; undefined for the default. */
  readonly lockTimeoutMs?: number
}

class ServerClient extends pg.Client {
  readonly server: ServerUrl
  readonly generation: number
  readonly #servers: PostgresServers

  constructor(options: pg.ClientConfig, servers: PostgresServers) {
    const server = servers.current
    super({ ...options, connectionString: server.url, connectionTimeoutMillis: servers.attemptTimeoutMs })
    this.server = server
    this.generation = servers.generation
    this.#servers = servers
  }

  override connect(): Promise<pg.Client>
  override connect(callback: (error: Error) => void): void
  // pg.Pool calls this with a callback.
  override connect(callback?: (error: Error) => void): Promise<pg.Client> | undefined {
    if (!callback) return super.connect()
    super.connect((error: Error | null) => {
      if (error) this.#servers.failed(this.server, error)
      callback(error as Error)
    })
    return undefined
  }
}

/** Connections to the database server that accepts writes. A connection is opened when first needed. */
export class PostgresPool {
  readonly #pool: pg.Pool
  readonly #servers: PostgresServers
  readonly #limits: PoolLimits
  readonly #unanswered: UnansweredConnections
  readonly #connections = new WeakMap<pg.ClientBase, Connection>()
  #ending: Promise<void> | undefined

  constructor(config: PostgresConfig, servers: PostgresServers, limits: PoolLimits, lost: OnceAMinute) {
    this.#servers = servers
    this.#limits = limits
    this.#unanswered = new UnansweredConnections(servers)
    const setUp = sessionSettings(config.schema, limits.lockTimeoutMs)
    const pool = new pg.Pool({
      application_name: 'submission-mirror',
      max: limits.max,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      idleTimeoutMillis: IDLE_MS,
      maxLifetimeSeconds: MAX_LIFETIME_S,
      keepAlive: true,
      types: typeParsers,
      Client: class extends ServerClient {
        constructor(options?: pg.ClientConfig) {
          super(options ?? {}, servers)
        }
      },
      // The pool waits for `onConnect` before it hands out the connection.
      onConnect: async (client) => {
        // Without an error listener, a connection that breaks while in use would end the process.
        client.on('error', () => {})
        const connection = await this.#inspect(client as ServerClient, isPooled(config))
        this.#connections.set(client, connection)
        // Behind a pooler, clients share sessions, so settings of a session would affect other clients. Each
        // transaction applies the settings there instead.
        if (!connection.pooled) await client.query(limited(setUp, servers.attemptTimeoutMs))
      },
    })
    pool.on('error', (error) => lost.tell(`a Postgres connection was lost: ${connectionError(error).message}`))
    this.#pool = pool
  }

  get lockTimeoutMs(): number | undefined {
    return this.#limits.lockTimeoutMs
  }

  /**
   * Takes a connection from the pool.
   * @throws TransientError if no connection becomes free within 5 s, if no server accepts writes, or if all connections
   * wait for an answer.
   */
  async connect(): Promise<PostgresSession> {
    const { max, answerTimeoutMs } = this.#limits
    if (this.#unanswered.size >= max) {
      await this.#unanswered.probe()
      if (this.#unanswered.size >= max) throw allUnanswered(max)
    }
    await this.#servers.choose()
    return await this.#servers.inTurn(async () => {
      const client = await this.#trusted()
      const connection = this.#connections.get(client) as Connection
      return new PostgresSession(connection, answerTimeoutMs, (condition) => this.#giveBack(connection, condition))
    })
  }

  /**
   * Waits until connections in use are returned, then closes all connections. Doesn't wait for statements that got no
   * answer in time.
   */
  async close(): Promise<void> {
    this.#ending ??= this.#pool.end()
    this.#unanswered.dropAll()
    await this.#ending
  }

  /**
   * @returns a connection of the current generation (see `PostgresServers.generation`). Closes older connections that
   * the pool offers. After closing more connections than the pool can have, returns the next connection, even an older
   * one.
   */
  async #trusted(): Promise<pg.PoolClient> {
    for (let closed = 0; ; closed++) {
      const client = await this.#pool.connect()
      if ((client as unknown as ServerClient).generation === this.#servers.generation || closed > this.#limits.max) return client
      client.release(true)
    }
  }

  async #inspect(client: ServerClient, named: boolean): Promise<Connection> {
    try {
      const session = await this.#servers.inspect(client, client.server)
      // If the login and this query used different backends, the connection goes through a pooler that the settings don't
      // name.
      const pooled = named || session.backend !== (client as { readonly processID?: number | null }).processID
      return observe(client as unknown as pg.PoolClient, { pooled, backend: session.backend })
    } catch (error) {
      this.#servers.failed(client.server, error)
      throw error
    }
  }

  #giveBack(connection: Connection, condition: Condition): void {
    if (condition !== 'good') this.#servers.distrust()
    const { client, pooled, backend } = connection
    // Behind a pooler, close a connection whose statement got no answer. The pooler limits the sessions itself, and
    // hides which of them still run a statement.
    if (condition !== 'unanswered' || pooled) client.release(condition !== 'good')
    else this.#unanswered.keep(client, (client as unknown as ServerClient).server, backend)
  }
}
