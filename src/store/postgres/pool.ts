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
/** A session keeps its `synchronous_commit`. This limits the delay of a stricter server default. */
const MAX_LIFETIME_S = 600

/** Whether a pooler is configured; then listening uses a separate URL. */
function isPooled(config: PostgresConfig): boolean {
  return config.listenUrl.reveal() !== config.url.reveal()
}

export interface PoolLimits {
  readonly max: number
  /** Answer time limit in ms. */
  readonly answerTimeoutMs: number
  /** Lock time limit in ms; omitted: the default. */
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
  // The pool passes a callback.
  override connect(callback?: (error: Error) => void): Promise<pg.Client> | undefined {
    if (!callback) return super.connect()
    super.connect((error: Error | null) => {
      if (error) this.#servers.failed(this.server, error)
      callback(error as Error)
    })
    return undefined
  }
}

/** Connections to the database server that accepts writes, opened on demand. */
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
      // The pool awaits `onConnect` before returning connections.
      onConnect: async (client) => {
        // Without a listener, a connection that breaks while in use would end the process.
        client.on('error', () => {})
        const connection = await this.#inspect(client as ServerClient, isPooled(config))
        this.#connections.set(client, connection)
        // Behind a pooler, session settings would affect other clients, so transactions apply their own.
        if (!connection.pooled) await client.query(limited(setUp, servers.attemptTimeoutMs))
      },
    })
    pool.on('error', (error) => lost.tell(`a Postgres connection was lost: ${connectionError(error).message}`))
    this.#pool = pool
  }

  get lockTimeoutMs(): number | undefined {
    return this.#limits.lockTimeoutMs
  }

  /** @throws TransientError if within 5 s no connection is free or no server accepts writes. */
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

  /** Waits for connections in use, except unanswered ones, then closes all. */
  async close(): Promise<void> {
    this.#ending ??= this.#pool.end()
    this.#unanswered.dropAll()
    await this.#ending
  }

  /** @returns a connection of the current generation; closes older ones. */
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
      // An unconfigured pooler is detected by a different backend after the login.
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
    // Behind a pooler, unanswered connections are closed: the pooler limits and hides sessions.
    if (condition !== 'unanswered' || pooled) client.release(condition !== 'good')
    else this.#unanswered.keep(client, (client as unknown as ServerClient).server, backend)
  }
}
