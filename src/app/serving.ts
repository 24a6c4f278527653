import { randomUUID } from 'node:crypto'
import type { DestinationStream } from 'pino'
import packageJson from '../../package.json' with { type: 'json' }
import { type Clock, systemClock } from '../clock.ts'
import { type Config, secretValues } from '../config.ts'
import { createLog, type Log } from '../log.ts'
import type { Observer } from '../observe.ts'
import { Heartbeat } from '../ops/heartbeat.ts'
import { type OpsHttp, startOpsHttp } from '../ops/http.ts'
import { LostWebhooksTicker } from '../ops/lost-webhooks.ts'
import { createMetrics, type Metrics } from '../ops/metrics.ts'
import { Readiness } from '../ops/readiness.ts'
import { StoreGauges } from '../ops/store-gauges.ts'
import { clientOf } from '../ops/upstream.ts'
import { AccountPoller } from '../poll/account-poller.ts'
import { capWaits } from '../poll/waits.ts'
import { type RunningReceiver, startReceiver } from '../receive/server.ts'
import { type Service, supervise } from '../service.ts'
import { ensureAccounts } from '../store/accounts.ts'
import type { Db, FailPoint } from '../store/db.ts'
import { ensureDestinations } from '../store/destinations.ts'
import { InboxAppender } from '../store/inbox-append.ts'
import { checkSchema, migrate } from '../store/migrate.ts'
import { openDb } from '../store/open.ts'
import type { ProcessRole } from '../store/processes.ts'
import { RejectedStore } from '../store/rejected.ts'
import { holdServeLock } from '../store/serve-lock.ts'
import type { UpstreamClient } from '../upstream/client.ts'
import { Worker } from '../work/worker.ts'
import type { Pushing } from './pushing.ts'

export type ServeRole = Exclude<ProcessRole, 'sync'>

/** What tests put in the place of the real thing. */
export interface ServeOverrides {
  readonly clock?: Clock
  readonly logDestination?: DestinationStream
  readonly failPoint?: FailPoint
}

export interface ServeOptions {
  readonly role: ServeRole
  /** Whether a person reads the log on a terminal. */
  readonly pretty?: boolean
  readonly overrides?: ServeOverrides
}

/** A running `serve`. */
export interface Serving {
  /** `http://host:port` of the receiver; null when the role takes no deliveries. */
  readonly receiver: string | null
  /** `http://host:port` of the ops server. */
  readonly ops: string
  readonly log: Log
  /** Rejects when the process cannot go on. */
  readonly failed: Promise<never>
  /** Stops taking, lets what is in hand end within `SHUTDOWN_GRACE`, and closes everything. */
  stop(): Promise<void>
}

/** While deliveries come, the worker rests for a multiple of what a batch took: both share SQLite's one thread, and the senders wait. */
const REST_SHARE = 5
const MOST_REST_MS = 120
const MOMENT_MS = 50
/** For closing what has already had its grace. */
const CLOSE_MS = 2_000

/**
 * Starts `serve`: the receiver listens as soon as the database is ready, and nothing waits for the service.
 * @throws BusyError when another serve uses the SQLite file, FatalError when the database or its schema cannot be used, TransientError
 * when the database is away, whatever listening throws when a port is taken.
 */
export async function startServing(config: Config, options: ServeOptions): Promise<Serving> {
  const startedAt = performance.now()
  const { clock = systemClock, logDestination, failPoint } = options.overrides ?? {}
  const log = createLog({
    level: config.log.level,
    pretty: options.pretty ?? false,
    secrets: secretValues(config),
    ...(logDestination && { destination: logDestination }),
  })
  const closing = new AsyncDisposableStack()
  try {
    const { database } = config
    if (database.kind === 'sqlite') {
      const lock = await holdServeLock(database)
      closing.defer(() => lock.release())
    }
    const db = await openDb(database, { clock, log, failPoint })
    closing.defer(() => db.close())
    if (config.migrateOnStart) for (const name of await migrate(db)) log.info({ migration: name }, `migrated the database: ${name}`)
    else await checkSchema(db)
    await ensureAccounts(
      db,
      config.accounts.map((account) => account.name),
    )
    // Before anything is applied: from here on a new destination misses nothing.
    await ensureDestinations(db, config.destinations)
    const running = new Running({ config, role: options.role, clock, log, db, closing })
    await running.start()
    const ms = Math.round(performance.now() - startedAt)
    const { receiver, ops } = running
    log.info({ role: options.role, database: database.kind, receiver, ops, version: packageJson.version, ms }, `ready after ${ms} ms`)
    return { receiver, ops, log, failed: running.failed, stop: () => running.stop() }
  } catch (error) {
    await closing.disposeAsync()
    throw error
  }
}

interface RunningParts {
  readonly config: Config
  readonly role: ServeRole
  readonly clock: Clock
  readonly log: Log
  readonly db: Db
  /** What is closed last, in the opposite order. */
  readonly closing: AsyncDisposableStack
}

/** Everything that runs while it serves. */
class Running {
  readonly #p: RunningParts
  readonly #metrics: Metrics = createMetrics()
  readonly #observer: Observer
  readonly #readiness: Readiness
  readonly #entry: { readonly id: string; readonly role: ServeRole; readonly version: string }
  readonly #stopping = new AbortController()
  readonly #pushStopping = new AbortController()
  readonly #failure = Promise.withResolvers<never>()
  readonly #clients: UpstreamClient[] = []
  #pushing: Pushing | null = null
  #services: Promise<void> = Promise.resolve()
  #receiver: RunningReceiver | null = null
  #ops: OpsHttp | null = null
  #deliveredAt = Number.NEGATIVE_INFINITY

  constructor(parts: RunningParts) {
    this.#p = parts
    this.#entry = { id: randomUUID(), role: parts.role, version: packageJson.version }
    this.#readiness = new Readiness(parts.db, this.#entry)
    const { observer } = this.#metrics
    this.#observer = {
      ...observer,
      count: (name, labels, by) => {
        if (name === 'deliveries_total') this.#deliveredAt = performance.now()
        observer.count(name, labels, by)
      },
    }
    // Nobody may be listening yet, or any more.
    this.#failure.promise.catch(() => undefined)
  }

  get receiver(): string | null {
    const address = this.#receiver?.address
    return address ? `http://${address.host.includes(':') ? `[${address.host}]` : address.host}:${address.port}` : null
  }

  get ops(): string {
    return this.#ops?.origin ?? ''
  }

  get failed(): Promise<never> {
    return this.#failure.promise
  }

  async start(): Promise<void> {
    const { config, role, clock, log, db, closing } = this.#p
    if (role !== 'work') {
      this.#receiver = await startReceiver({
        config: config.receiver,
        accounts: config.accounts,
        appender: new InboxAppender(db),
        rejectedStore: new RejectedStore(db, log),
        clock,
        log,
        observer: this.#observer,
      })
      closing.defer(() => this.#receiver?.stop(0))
    }
    this.#ops = await this.#startOps()
    closing.defer(() => this.#ops?.close())
    const services = [this.#heartbeat(), ...(role === 'receive' ? [] : this.#working())]
    const pushers = role === 'receive' ? [] : await this.#createPushing()
    for (const client of this.#clients) closing.defer(() => client.close())
    closing.defer(() => this.#pushing?.close())
    this.#services = Promise.all([
      ...services.map((service) => supervise(service, clock, log, this.#stopping.signal)),
      ...pushers.map((service) => supervise(service, clock, log, this.#pushStopping.signal)),
    ]).then(() => undefined)
    this.#services.catch((error: unknown) => this.#failure.reject(error))
  }

  async stop(): Promise<void> {
    const { config, clock, log, closing } = this.#p
    log.info('stopping: no more deliveries are taken, what is in hand is finished')
    this.#readiness.drain()
    const over = new AbortController()
    const grace = clock.sleep(config.shutdownGraceMs, over.signal).then(() => 'over' as const)
    // At once: what is on its way to a destination may need all of the time that there is.
    this.#pushStopping.abort()
    await this.#receiver?.stop(config.shutdownGraceMs)
    this.#stopping.abort()
    const ended = this.#services.then(
      () => 'ended' as const,
      () => 'ended' as const,
    )
    if ((await Promise.race([ended, grace])) === 'over' && !over.signal.aborted) {
      log.warn('not everything in hand was finished within SHUTDOWN_GRACE; it is taken up again at the next start')
    }
    over.abort()
    const closed = new AbortController()
    await Promise.race([closing.disposeAsync(), clock.sleep(CLOSE_MS, closed.signal)])
    closed.abort()
    log.info('stopped')
  }

  async #startOps(): Promise<OpsHttp> {
    const { config, log, db } = this.#p
    const { registry } = this.#metrics
    const gauges = new StoreGauges(registry, db, log)
    return await startOpsHttp({
      host: config.ops.host,
      port: config.ops.port,
      notReady: () => this.#readiness.notReady(),
      metrics: async () => {
        await gauges.refresh()
        return { type: registry.contentType, text: await registry.metrics() }
      },
    })
  }

  #heartbeat(): Service {
    const { db, log } = this.#p
    return new Heartbeat(db, log, this.#entry, (processes) => {
      for (const client of this.#clients) client.shareAmong(processes)
      this.#pushing?.shareAmong(processes)
    })
  }

  /** The services of a process that applies and polls. */
  #working(): Service[] {
    const { config, role, clock, log, db } = this.#p
    const common = { db, clock, log, observer: this.#observer }
    const names = config.accounts.map((account) => account.name)
    const restMs = (workedMs: number) => {
      const shared = db.kind === 'sqlite' && role === 'all' && performance.now() - this.#deliveredAt < MOMENT_MS
      return shared ? Math.min(MOST_REST_MS, workedMs * REST_SHARE) : 0
    }
    const pollers = names.map((account) => {
      const client = clientOf(config, account, clock, this.#observer)
      this.#clients.push(client)
      return new AccountPoller({ ...common, account, client, policy: config, concurrency: config.upstream.concurrency })
    })
    return [
      { name: 'listener', run: (signal) => db.listen(signal) },
      { name: 'stored waits', run: (signal) => this.#capAllWaits(names, signal) },
      new Worker({ ...common, restMs }),
      new LostWebhooksTicker(db, log, this.#observer, names),
      ...pollers,
    ]
  }

  /** The services that push. Without a destination nothing of that is loaded. */
  async #createPushing(): Promise<readonly Service[]> {
    const { config, clock, log, db } = this.#p
    if (config.destinations.length === 0) return []
    const { createPushing } = await import('./pushing.ts')
    this.#pushing = createPushing({ config, clock, log, db, observer: this.#observer })
    return this.#pushing.services
  }

  async #capAllWaits(accounts: readonly string[], signal: AbortSignal): Promise<void> {
    const { config, clock, db } = this.#p
    for (const account of accounts) await capWaits({ db, clock, account, policy: config }, signal)
    await aborted(signal)
  }
}

/** Resolves when `signal` aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}
