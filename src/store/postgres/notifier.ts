import pg from 'pg'
import { messageOf } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import type { Topic } from '../engine/signals.ts'
import { channelOf } from './channel.ts'
import type { PostgresPool } from './pool.ts'

/**
 * Notifies other processes of what was committed. Within the transaction it would cost a round trip, and Postgres lets only one
 * notifying transaction commit at a time, disk included; so it is done right after, never more than one at a time: what is
 * notified meanwhile goes with the next.
 */
export class PostgresNotifier {
  readonly #pool: PostgresPool
  readonly #channel: string
  readonly #log: Log
  readonly #waiting = new Set<Topic>()
  #running: Promise<void> | null = null
  #closed = false

  constructor(pool: PostgresPool, schema: string, log: Log) {
    this.#pool = pool
    this.#channel = pg.escapeIdentifier(channelOf(schema))
    this.#log = log
  }

  notify(topic: Topic): void {
    if (this.#closed) return
    this.#waiting.add(topic)
    this.#running ??= this.#run()
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#running
  }

  async #run(): Promise<void> {
    while (this.#waiting.size > 0) {
      const topics = [...this.#waiting]
      this.#waiting.clear()
      try {
        await this.#send(topics)
      } catch (error) {
        this.#log.debug(`other processes were not notified and will look by themselves: ${messageOf(error)}`)
      }
    }
    // In the same step as the last look at what waits: whoever comes next begins anew.
    this.#running = null
  }

  async #send(topics: readonly Topic[]): Promise<void> {
    const session = await this.#pool.connect()
    try {
      const notes = topics.map((topic) => `notify ${this.#channel}, '${topic}'`)
      // One transaction without a `begin`, which would stay open when something fails in it. Nothing is written, so there is nothing that
      // must be on disk.
      await session.query(['set local synchronous_commit = off', ...notes].join('; '))
    } finally {
      session.release()
    }
  }
}
