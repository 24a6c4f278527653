import type pg from 'pg'
import { backoffMs, systemClock } from '../../base/clock.ts'
import type { ServerUrl } from '../../base/postgres-url.ts'
import { limited } from './server-roles.ts'
import type { PostgresServers } from './servers.ts'

/** Shortest and longest time between two looks at the server. */
const PROBE_BASE_MS = 1_000
const PROBE_CAP_MS = 30_000

interface Unanswered {
  readonly client: pg.PoolClient
  readonly server: ServerUrl
  readonly backend: number
}

/**
 * Connections whose last statement was not answered in time. The server may go on with it: a commit that waits for an absent standby waits
 * for ever, and does not notice that its client is gone. So such a connection keeps its place in the pool until its session is known to have
 * ended: otherwise each attempt would leave one more session on the server, until it has none left for anybody.
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

  /** Keeps a connection out of use until its statement ends or it breaks; then it is closed and its place is free. */
  keep(client: pg.PoolClient, server: ServerUrl, backend: number): void {
    this.#kept.set(client, { client, server, backend })
    for (const event of ['drain', 'end', 'error'] as const) client.once(event, () => this.#drop(client))
  }

  /**
   * Looks on the server which of the sessions are still at work, and closes the connections of the others, as those of a server that is not
   * the primary any more. Looks that find all at work, or no server, become rarer: most calls return at once.
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

/** @returns the processes of the server that run a statement. A session that waits for its client has missed the client's last words. */
async function backendsAtWork(client: pg.Client, timeoutMs: number): Promise<Set<number>> {
  const { rows } = await client.query<{ pid: number }>(
    limited("select pid from pg_stat_activity where state is distinct from 'idle'", timeoutMs),
  )
  return new Set(rows.map(({ pid }) => pid))
}
