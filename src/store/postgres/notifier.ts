import pg from 'pg'
import { messageOf } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import type { Topic } from '../engine/signals.ts'
import type { PostgresPool } from './pool.ts'

/** Longest channel name in bytes. Postgres truncates longer names. */
const MAX_NAME_LENGTH = 63

/** @returns the channel on which the processes of one schema notify each other. */
export function channelOf(schema: string): string {
  return `submission_mirror_${schema}`.slice(0, MAX_NAME_LENGTH)
}

/**
 * Sends notifications to other processes after a transaction committed, in a separate transaction. Postgres commits
 * transactions with notifications one after another, each with its disk write. Notifying in the same transaction would
 * therefore be slow.
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
        this.#log.debug(`other processes were not notified and will poll within a second: ${messageOf(error)}`)
      }
    }
    // No `notify` is missed: nothing was awaited since the last check of `#waiting`, and a later `notify` starts a new
    // run.
    this.#running = null
  }

  async #send(topics: readonly Topic[]): Promise<void> {
    const session = await this.#pool.connect()
    try {
      const notes = topics.map((topic) => `notify ${this.#channel}, '${topic}'`)
      // Postgres runs several statements in one query as one transaction. This transaction writes no data, so its
      // commit needn't wait for the disk.
      await session.query(['set local synchronous_commit = off', ...notes].join('; '))
    } finally {
      session.release()
    }
  }
}
