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

/** Time limit in ms for others after one primary answered. */
const OTHERS_TIMEOUT_MS = 500

/** The servers in a URL: a primary and its standbys. After an interrupted failover, uses the primary with the highest timeline. */
export class PostgresServers {
  readonly all: readonly ServerUrl[]
  #current = 0
  #generation = 0
  /** Choice of the current generation; undefined after its server failed. */
  #choice: { readonly generation: number; readonly made: Promise<void> } | undefined
  /** Timeline of the current primary; 0 if unknown. */
  #timeline = 0
  readonly #warn: (text: string) => void
  readonly #failedAt = new WeakMap<object, ServerUrl>()

  /** @param url a valid URL; see `postgresUrl` in the settings. @param warn called if two servers are primary. */
  constructor(url: SecretText, warn: (text: string) => void = () => {}) {
    this.#warn = warn
    this.all = serversOf(url)
  }

  get current(): ServerUrl {
    return this.all[this.#current] as ServerUrl
  }

  /** Share of the connect timeout per attempt, in ms. */
  get attemptTimeoutMs(): number {
    return CONNECT_TIMEOUT_MS / this.all.length
  }

  /** Older connections may lead to a former primary. */
  get generation(): number {
    return this.#generation
  }

  /** Call after a connection broke or a server rejected a write. Existing connections are not used again. */
  distrust(): void {
    this.#generation++
  }

  /** Call if a connection to `server` failed. If `server` is current, the next one becomes current. */
  failed(server: ServerUrl, error: unknown): void {
    if (typeof error === 'object' && error !== null) this.#failedAt.set(error, server)
    if (this.current !== server) return
    this.#current = (this.#current + 1) % this.all.length
    this.#choice = undefined
  }

  /** Selects the primary with the highest timeline, once per generation. If there is none, `inTurn` reports why. */
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
   * Attempts to connect to each server in turn.
   * @param attempt connects to `current` and reports failures to `failed`; any other error ends the attempts.
   * @throws TransientError with the reason for each server.
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

  /** @returns a new unpooled connection to a server that accepts writes. @throws TransientError */
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
      // Without a listener a connection that breaks would end the process.
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

  /** Inspects a new connection. @throws TransientError for a standby. With several servers, also if read-only or on an older timeline. */
  async inspect(client: pg.ClientBase, { name }: ServerUrl): Promise<SessionFacts> {
    const session = await inspectSession(client, this.attemptTimeoutMs)
    if (session.isStandby) throw notWritable(name, 'a standby')
    if (this.all.length === 1) return session
    if (session.isReadOnly) throw notWritable(name, 'read-only')
    const timeline = await readTimeline(client, this.attemptTimeoutMs)
    if (timeline !== 0 && timeline < this.#timeline) throw outdatedPrimary(name, timeline, this.#timeline)
    if (timeline > this.#timeline) {
      // Earlier connections lead to the former primary.
      this.#timeline = timeline
      this.distrust()
    }
    return session
  }

  /** @param error a connection's, or the pool's with it as cause. */
  #serverOf(error: unknown): ServerUrl | undefined {
    if (!(error instanceof Error)) return undefined
    return this.#failedAt.get(error) ?? (error.cause instanceof Error ? this.#failedAt.get(error.cause) : undefined)
  }
}
