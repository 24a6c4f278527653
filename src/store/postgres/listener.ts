import pg from 'pg'
import { endsWithin } from '../../base/abortable.ts'
import { backoffMs, systemClock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import { OnceAMinute } from '../../base/once-a-minute.ts'
import { type Signals, topics } from '../engine/signals.ts'
import { connectionError } from './errors.ts'
import { channelOf } from './notifier.ts'
import type { PostgresConfig } from './pool.ts'
import { PostgresServers } from './servers.ts'

const RETRY_BASE_MS = 200
const RETRY_CAP_MS = 5_000
/** Interval in ms between queries on the connection. A query that fails shows that the connection is cut. */
const PROBE_INTERVAL_MS = 30_000
const PROBE_TIMEOUT_MS = 5_000

/** A connection that receives the notifications of other processes and passes them to `signals`. */
export class PostgresListener {
  readonly #channel: string
  readonly #servers: PostgresServers
  readonly #signals: Signals
  readonly #away: OnceAMinute

  constructor(config: PostgresConfig, signals: Signals, log: Log) {
    this.#channel = channelOf(config.schema)
    this.#servers = new PostgresServers(config.listenUrl)
    this.#signals = signals
    this.#away = new OnceAMinute(systemClock, (text) => log.warn(text))
  }

  /**
   * Listens until `signal` aborts. After a failure, connects again, with a delay that grows up to 5 s. Never rejects.
   */
  async run(signal: AbortSignal): Promise<void> {
    let attempt = 0
    while (!signal.aborted) {
      try {
        await this.#listen(signal, () => {
          attempt = 0
        })
      } catch (error) {
        this.#away.tell(
          `notifications of other processes are not received now, so work starts up to a second later: ${connectionError(error).message}`,
        )
      }
      await systemClock.sleep(backoffMs(systemClock, attempt++, RETRY_BASE_MS, RETRY_CAP_MS), signal)
    }
  }

  async #listen(signal: AbortSignal, connected: () => void): Promise<void> {
    const client = await this.#servers.open({ application_name: 'submission-mirror listen', query_timeout: PROBE_TIMEOUT_MS })
    const ended = new AbortController()
    let problem: Error | null = null
    client.on('error', (error) => {
      problem ??= error
      ended.abort()
    })
    client.on('end', () => ended.abort())
    client.on('notification', ({ payload }) => {
      // A process of a later release may send a topic that this release doesn't know. Ignore such topics.
      const topic = topics.find((known) => known === payload)
      if (topic) this.#signals.notify(topic)
    })
    const stop = () => ended.abort()
    signal.addEventListener('abort', stop, { once: true })
    try {
      await client.query(`listen ${pg.escapeIdentifier(this.#channel)}`)
      connected()
      // Notifications sent before this point were missed. Notify every topic, so that all loops check for work now.
      for (const topic of topics) this.#signals.notify(topic)
      while (!ended.signal.aborted && !signal.aborted) {
        await systemClock.sleep(PROBE_INTERVAL_MS, ended.signal)
        if (!ended.signal.aborted) await client.query('select 1')
      }
      if (problem) throw problem
    } finally {
      signal.removeEventListener('abort', stop)
      // Closing a dead connection may never finish, so wait only for a limited time.
      await endsWithin(systemClock, PROBE_TIMEOUT_MS, client.end())
    }
  }
}
