import type pg from 'pg'
import { backoffMs, systemClock } from '../../base/clock.ts'
import type { ServerUrl } from '../../base/postgres-url.ts'
import { limited } from './server-roles.ts'
import type { PostgresServers } from './servers.ts'

/** First and maximum delay between probes, in ms. */
const PROBE_BASE_MS = 1_000
const PROBE_CAP_MS = 30_000

interface Unanswered {
  readonly client: pg.PoolClient
  readonly server: ServerUrl
  readonly backend: number
}

/**
 * Connections whose last statement got no answer in time, for example a commit while a standby is down. These
 * connections count against the pool's limit until their sessions end. Otherwise the pool would open more and more
 * sessions on the server.
 */
export class UnansweredConnections {
  readonly #servers: PostgresServers
  readonly #kept = new Map<pg.PoolClient, Unanswered>()
  #probing: Promise<void> | undefined
  #attempt = 0
  #nextProbe = 0

  constructor(servers: PostgresServers) {
    this.#servers = servers
  }

  get size(): number {
    return this.#kept.size
  }

  /** Keeps a connection whose statement still runs, and closes the connection when the statement ends. */
  keep(client: pg.PoolClient, server: ServerUrl, backend: number): void {
    this.#kept.set(client, { client, server, backend })
    for (const event of ['drain', 'end', 'error'] as const) client.once(event, () => this.#drop(client))
  }

  /**
   * Asks the server which kept connections still run a statement. Closes the other kept connections, and all kept
   * connections to a former primary. If a probe closes no connection, the delay until the next probe grows.
   */
  async probe(): Promise<void> {
    if (performance.now() < this.#nextProbe) return
    this.#probing ??= this.#look().finally(() => {
      this.#probing = undefined
    })
    await this.#probing
  }

  dropAll(): void {
    for (const client of [...this.#kept.keys()]) this.#drop(client)
  }

  async #look(): Promise<void> {
    const before = this.#kept.size
    const timeoutMs = this.#servers.attemptTimeoutMs
    const client = await this.#servers.open({ application_name: 'submission-mirror probe' }).catch(() => null)
    if (client) {
      const present = this.#servers.current
      const atWork = await backendsAtWork(client, timeoutMs).catch(() => null)
      void client.end().catch(() => {})
      for (const kept of atWork ? [...this.#kept.values()] : []) {
        if (kept.server !== present || !atWork?.has(kept.backend)) this.#drop(kept.client)
      }
    }
    this.#attempt = this.#kept.size < before ? 0 : this.#attempt + 1
    this.#nextProbe = performance.now() + backoffMs(systemClock, this.#attempt, PROBE_BASE_MS, PROBE_CAP_MS)
  }

  #drop(client: pg.PoolClient): void {
    if (this.#kept.delete(client)) client.release(true)
  }
}

/** @returns the ids of server processes that aren't idle. */
async function backendsAtWork(client: pg.Client, timeoutMs: number): Promise<Set<number>> {
  const { rows } = await client.query<{ pid: number }>(
    limited("select pid from pg_stat_activity where state is distinct from 'idle'", timeoutMs),
  )
  return new Set(rows.map(({ pid }) => pid))
}
