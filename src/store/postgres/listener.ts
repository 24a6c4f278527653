import pg from 'pg'
import { backoffMs, systemClock } from '../../base/clock.ts'
import { messageOf } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import { type Signals, topics } from '../engine/signals.ts'
import { channelOf, topicOf } from './channel.ts'
import type { PostgresConfig } from './pool.ts'

const CONNECT_TIMEOUT_MS = 5_000
const RETRY_BASE_MS = 200
const RETRY_CAP_MS = 5_000
/** A connection that was cut without a word is found out by asking. */
const PROBE_INTERVAL_MS = 30_000
const PROBE_TIMEOUT_MS = 5_000

/** One connection that hears notifications and hands them to `signals`. */
export class PostgresListener {
  readonly #config: PostgresConfig
  readonly #signals: Signals
  readonly #log: Log

  constructor(config: PostgresConfig, signals: Signals, log: Log) {
    this.#config = config
    this.#signals = signals
    this.#log = log
  }

  /** Listens until `signal` aborts; connects again with backoff however often it must. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    let attempt = 0
    while (!signal.aborted) {
      try {
        await this.#listen(signal, () => {
          attempt = 0
        })
      } catch (error) {
        this.#log.warn(`notifications of other processes are not heard now, each second is looked instead: ${messageOf(error)}`)
      }
      await systemClock.sleep(backoffMs(systemClock, attempt++, RETRY_BASE_MS, RETRY_CAP_MS), signal)
    }
  }

  async #listen(signal: AbortSignal, connected: () => void): Promise<void> {
    const client = new pg.Client({
      connectionString: this.#config.listenUrl.reveal(),
      application_name: 'submission-mirror listen',
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      query_timeout: PROBE_TIMEOUT_MS,
      keepAlive: true,
    })
    const ended = new AbortController()
    let problem: Error | null = null
    client.on('error', (error) => {
      problem ??= error
      ended.abort()
    })
    client.on('end', () => ended.abort())
    client.on('notification', ({ payload }) => {
      const topic = topicOf(payload, topics)
      if (topic) this.#signals.notify(topic)
    })
    const stop = () => ended.abort()
    signal.addEventListener('abort', stop, { once: true })
    try {
      await client.connect()
      await client.query(`listen ${pg.escapeIdentifier(channelOf(this.#config.schema))}`)
      connected()
      // Whatever was notified while nobody listened is looked for now.
      for (const topic of topics) this.#signals.notify(topic)
      while (!ended.signal.aborted && !signal.aborted) {
        await systemClock.sleep(PROBE_INTERVAL_MS, ended.signal)
        if (!ended.signal.aborted) await client.query('select 1')
      }
      if (problem) throw problem
    } finally {
      signal.removeEventListener('abort', stop)
      // A connection that is gone may never say so.
      const closed = new AbortController()
      await Promise.race([client.end().catch(() => {}), systemClock.sleep(PROBE_TIMEOUT_MS, closed.signal)])
      closed.abort()
    }
  }
}
