import pg from 'pg'
import { endsWithin } from '../../base/abortable.ts'
import { systemClock } from '../../base/clock.ts'
import type { ServerUrl } from '../../base/postgres-url.ts'
import type { SecretText } from '../../base/secret.ts'
import { connectionError, noneWritable, notWritable, outdatedPrimary } from './errors.ts'
import {
  CONNECT_TIMEOUT_MS,
  inspectSession,
  newestOf,
  readTimeline,
  roleOf,
  type ServerRole,
  type SessionFacts,
  serversOf,
  severalPrimaries,
} from './server-roles.ts'

/** After the first primary answered, the other servers get this time in ms to answer too. */
const OTHERS_TIMEOUT_MS = 500

/**
 * The servers that a URL lists: a primary and its standbys. If several servers are primary, as after an interrupted
 * failover, the primary with the highest timeline is used.
 */
export class PostgresServers {
  readonly all: readonly ServerUrl[]
  #current = 0
  #generation = 0
  /**
   * The choice of a server, made once in each generation of connections (see `generation`). Undefined before the first
   * choice and after the chosen server failed.
   */
  #choice: { readonly generation: number; readonly made: Promise<void> } | undefined
  /** Timeline of the primary in use; 0 if unknown. */
  #timeline = 0
  readonly #warn: (text: string) => void
  readonly #failedAt = new WeakMap<object, ServerUrl>()

  /**
   * @param url a valid URL; see `postgresUrl` in the settings.
   * @param warn called with a text if several servers are primary.
   */
  constructor(url: SecretText, warn: (text: string) => void = () => {}) {
    this.#warn = warn
    this.all = serversOf(url)
  }

  get current(): ServerUrl {
    return this.all[this.#current] as ServerUrl
  }

  /** Time limit in ms for connecting to one server. */
  get attemptTimeoutMs(): number {
    return CONNECT_TIMEOUT_MS / this.all.length
  }

  /**
   * Number of the current generation of connections. The pool closes connections of older generations, because they may
   * lead to a former primary.
   */
  get generation(): number {
    return this.#generation
  }

  /**
   * Begins a new generation, so that existing connections aren't used again. Call this after a connection broke or a
   * server rejected a write.
   */
  distrust(): void {
    this.#generation++
  }

  /**
   * Call this if a connection to `server` failed. If `server` is the current server, the next server in the
   * URL becomes current.
   */
  failed(server: ServerUrl, error: unknown): void {
    if (typeof error === 'object' && error !== null) this.#failedAt.set(error, server)
    if (this.current !== server) return
    this.#current = (this.#current + 1) % this.all.length
    this.#choice = undefined
  }

  /**
   * Makes the primary with the highest timeline the current server. Does this once in each generation. If no server is
   * primary, keeps the current server; `inTurn` then reports why each server can't be used.
   */
  async choose(): Promise<void> {
    if (this.all.length === 1) return
    if (this.#choice?.generation !== this.#generation) this.#choice = { generation: this.#generation, made: this.#choosePrimary() }
    await this.#choice.made
  }

  async #choosePrimary(): Promise<void> {
    const found: ServerRole[] = []
    const enough = Promise.withResolvers<void>()
    const asked = this.all.map(async (server, i) => {
      const role = await roleOf(server, this.attemptTimeoutMs)
      if (role.role !== 'primary') return
      found[i] = role
      systemClock.after(OTHERS_TIMEOUT_MS, enough.resolve)
    })
    await endsWithin(systemClock, this.attemptTimeoutMs, Promise.race([enough.promise, Promise.all(asked)]))
    const primaries = Object.values(found)
    const best = newestOf(primaries)
    this.#timeline = best?.timeline ?? 0
    if (best === undefined) return
    this.#current = found.indexOf(best)
    if (primaries.length > 1) this.#warn(severalPrimaries(primaries))
  }

  /**
   * Calls `attempt` until it succeeds with one of the servers.
   * @param attempt connects to `current`, and reports a failure to `failed`, which makes the next server current. An
   * error that wasn't reported to `failed` ends the attempts.
   * @returns what `attempt` returns.
   * @throws TransientError with the reason for each server, if no server succeeds; otherwise the error that ended the
   * attempts.
   */
  async inTurn<T>(attempt: () => Promise<T>): Promise<T> {
    const failures: [name: string, reason: Error][] = []
    for (;;) {
      try {
        return await attempt()
      } catch (error) {
        const reason = connectionError(error)
        const server = this.#serverOf(error)
        if (!server || this.all.length === 1) throw reason
        failures.push([server.name, reason])
        if (failures.length === this.all.length) throw noneWritable(failures)
      }
    }
  }

  /**
   * Opens a connection to a server that accepts writes. The connection isn't part of the pool.
   * @throws TransientError if no server accepts writes.
   */
  async open(options: pg.ClientConfig): Promise<pg.Client> {
    await this.choose()
    return await this.inTurn(async () => {
      const server = this.current
      const client = new pg.Client({
        connectionString: server.url,
        connectionTimeoutMillis: this.attemptTimeoutMs,
        keepAlive: true,
        ...options,
      })
      // Without an error listener, a connection that breaks would end the process.
      client.on('error', () => {})
      try {
        await client.connect()
        await this.inspect(client, server)
        return client
      } catch (error) {
        this.failed(server, error)
        void client.end().catch(() => {})
        throw error
      }
    })
  }

  /**
   * Checks a new connection.
   * @throws TransientError if the server is a standby. With several servers in the URL, also throws if the server is
   * read-only or an earlier primary had a newer timeline.
   */
  async inspect(client: pg.ClientBase, { name }: ServerUrl): Promise<SessionFacts> {
    const session = await inspectSession(client, this.attemptTimeoutMs)
    if (session.isStandby) throw notWritable(name, 'a standby')
    if (this.all.length === 1) return session
    if (session.isReadOnly) throw notWritable(name, 'read-only')
    const timeline = await readTimeline(client, this.attemptTimeoutMs)
    if (timeline !== 0 && timeline < this.#timeline) throw outdatedPrimary(name, timeline, this.#timeline)
    if (timeline > this.#timeline) {
      // A standby was promoted. Earlier connections lead to the former primary.
      this.#timeline = timeline
      this.distrust()
    }
    return session
  }

  /**
   * @param error an error of a connection, or a pool's error with such an error as its cause.
   * @returns the server whose connection failed; undefined for other errors.
   */
  #serverOf(error: unknown): ServerUrl | undefined {
    if (!(error instanceof Error)) return undefined
    return this.#failedAt.get(error) ?? (error.cause instanceof Error ? this.#failedAt.get(error.cause) : undefined)
  }
}
