import pg from 'pg'
import { messageOf } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import type { Topic } from '../engine/signals.ts'
import type { PostgresPool } from './pool.ts'

/** Postgres truncates longer names. */
const MAX_NAME_LENGTH = 63

/** Channel for notifications between processes with the same schema. */
export function channelOf(schema: string): string {
  return `submission_mirror_${schema}`.slice(0, MAX_NAME_LENGTH)
}

/** Notifies other processes after commits. Postgres would serialize commits that notify, including the disk write. */
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
        this.#log.debug(`other processes were not notified and will poll within a second: ${messageOf(error)}`)
      }
    }
    // Runs in the same tick as the last check of `#waiting`, so the next `notify` starts a new run.
    this.#running = null
  }

  async #send(topics: readonly Topic[]): Promise<void> {
    const session = await this.#pool.connect()
    try {
      const notes = topics.map((topic) => `notify ${this.#channel}, '${topic}'`)
      // Several statements in one query are one transaction. It writes no data that must be durable.
      await session.query(['set local synchronous_commit = off', ...notes].join('; '))
    } finally {
      session.release()
    }
  }
}
