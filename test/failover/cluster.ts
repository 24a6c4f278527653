import type { DatabaseConfig } from '../../src/store/engine/db.ts'
import { newPostgres } from '../tools/databases.ts'
import { type Server, startPostgres } from '../tools/postgres-server.ts'
import { ask, follow, promote, REPLICATED, startStandby, waitFor } from '../tools/postgres-standby.ts'
import { until } from '../tools/until.ts'

const NAMES = ['db1', 'db2'] as const

export type PostgresConfig = Extract<DatabaseConfig, { kind: 'postgres' }>

/** A primary and its standby, which swap when the primary is killed. */
export class Cluster {
  /** Names both servers, always in this order. */
  readonly config: PostgresConfig
  readonly #servers: readonly [Server, Server]
  readonly #waitsFor: string
  #primary = 0

  private constructor(servers: readonly [Server, Server], waitsFor: string) {
    this.#servers = servers
    this.#waitsFor = waitsFor
    const hosts = servers.map(({ port }) => `127.0.0.1:${port}`).join(',')
    const url = { reveal: () => `postgres://postgres:${servers[0].password}@${hosts}/postgres?target_session_attrs=read-write` }
    this.config = { ...newPostgres(servers[0].url).config, url, listenUrl: url }
  }

  /** @param synchronous whether commits wait for the standby. */
  static async start({ synchronous }: { readonly synchronous: boolean }): Promise<Cluster> {
    const waitsFor = synchronous ? `ANY 1 (${NAMES.join(', ')})` : ''
    const first = await startPostgres({ fsync: false, settings: REPLICATED })
    const second = await startStandby(first, NAMES[1], { fsync: false, waitsFor })
    if (synchronous) await waitFor(first, waitsFor)
    return new Cluster([first, second], waitsFor)
  }

  get primary(): Server {
    return this.#servers[this.#primary] as Server
  }

  get standby(): Server {
    return this.#servers[1 - this.#primary] as Server
  }

  /** Cuts replication, as a broken network would. Later commits exist on the primary only. */
  async cutOff(): Promise<void> {
    await ask(this.standby, async (client) => {
      await client.query("alter system set primary_conninfo = ''")
      await client.query('select pg_reload_conf()')
      await until('it follows no longer', async () => (await client.query('select 1 from pg_stat_wal_receiver')).rowCount === 0)
    })
  }

  /** Kills the primary as a power cut would, and promotes the standby. */
  async fail(): Promise<void> {
    await this.primary.kill()
    await promote(this.standby)
    this.#primary = 1 - this.#primary
  }

  /** Returns the killed server as a standby from a new copy. Its own commits are lost. */
  async bringBack(): Promise<void> {
    await follow(this.standby, this.primary, NAMES[1 - this.#primary] as string, { waitsFor: this.#waitsFor })
  }

  async remove(): Promise<void> {
    for (const server of this.#servers) await server.remove()
  }
}
