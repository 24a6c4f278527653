import packageJson from '../../package.json' with { type: 'json' }
import { endsWithin } from '../base/abortable.ts'
import type { KnownSecrets } from '../base/log.ts'
import type { Observer } from '../base/observer.ts'
import type { Config } from '../config/config.ts'
import { protectionSettings } from '../config/protect.ts'
import { type ReloadResult, signalledReload } from '../ops/actions/reload.ts'
import { endLapsedSessions } from '../ops/http/api/sessions.ts'
import { type OpsHttp, startOpsHttp } from '../ops/http/server.ts'
import { ApiChangeRecorder } from '../ops/metrics/api-change-recorder.ts'
import { FigureRecorder } from '../ops/metrics/figure-recorder.ts'
import { createMetrics, type Metrics } from '../ops/metrics/metrics.ts'
import { StoreGauges } from '../ops/metrics/store-gauges.ts'
import { Heartbeat } from '../ops/status/heartbeat.ts'
import { Readiness } from '../ops/status/readiness.ts'
import type { Telemetry } from '../ops/telemetry/start.ts'
import { AccountPauses } from '../poll/account-pauses.ts'
import type { Sender } from '../push/send/sender.ts'
import { type RunningReceiver, startReceiver } from '../receive/server.ts'
import { MarkKeeper } from '../store/changes/mark-file.ts'
import type { ServiceParts } from '../store/engine/db.ts'
import { InboxAppender } from '../store/inbox/append.ts'
import { RejectedStore } from '../store/inbox/rejected.ts'
import { keepRejectedConnections } from '../store/inbox/rejected-connections.ts'
import type { DifferingDelivery } from '../store/inbox/repeats.ts'
import { LastUses } from '../store/reads/last-uses.ts'
import { LONG_PAUSE_MS } from '../store/reads/pauses.ts'
import type { ProcessEntry, ProcessRole } from '../store/upkeep/processes.ts'
import { type ClientChange, UpstreamClients } from './clients.ts'
import { registerNames } from './registering.ts'
import { Reloader } from './reloader.ts'
import { retryChanged } from './retry-changed.ts'
import { type GroupChange, groupOf, type ServiceGroup, ServiceGroups } from './service-groups.ts'
import { ProcessSettingsKeeper } from './settings-keeper.ts'
import { workingGroups } from './working.ts'

export type ServeRole = Exclude<ProcessRole, 'sync' | 'reconcile' | 'verify'>

export interface RunningParts extends Pick<ServiceParts, 'db' | 'clock' | 'log'> {
  readonly config: Config
  /** Reads and checks all settings again. @throws UsageError with every problem. */
  readonly load: () => Promise<Config>
  readonly role: ServeRole
  readonly secrets: KnownSecrets
  /** Receives metrics and traces. Null if no collector is configured. */
  readonly telemetry: Telemetry | null
  /** Resources to close when the process stops, in reverse order of opening. */
  readonly closing: AsyncDisposableStack
}

/**
 * On SQLite with role `all`, the worker and the receiver share one thread. If a delivery arrived less than `MOMENT_MS`
 * ago, the worker pauses after its batch, so that the receiver can answer quickly. The pause is `REST_SHARE` times the
 * duration of the batch, at most `MOST_REST_MS`.
 */
const REST_SHARE = 5
const MOST_REST_MS = 120
const MOMENT_MS = 50
const CLOSE_MS = 2_000

export class Running {
  readonly #p: RunningParts
  readonly #metrics: Metrics = createMetrics()
  readonly #observer: Observer
  readonly #appender: InboxAppender
  readonly #readiness: Readiness
  readonly #entry: ProcessEntry & { readonly role: ServeRole }
  readonly #groups: ServiceGroups
  readonly #reloader: Reloader
  readonly #stopping = new AbortController()
  readonly #failure = Promise.withResolvers<never>()
  readonly #started = Promise.withResolvers<void>()
  readonly #lastUses: LastUses
  readonly #clients: UpstreamClients
  readonly #pauses: AccountPauses
  readonly #figures: FigureRecorder
  readonly #apiChanges: ApiChangeRecorder
  readonly #settings: ProcessSettingsKeeper
  readonly #senders = new Set<Sender>()
  #config: Config
  #receiver: RunningReceiver | null = null
  #ops: OpsHttp | null = null
  #deliveredAt = Number.NEGATIVE_INFINITY

  constructor(parts: RunningParts) {
    this.#p = parts
    this.#config = parts.config
    this.#entry = { id: parts.db.processId, role: parts.role, version: packageJson.version }
    this.#appender = new InboxAppender(parts.db, (differing) => this.#noteDiffering(differing))
    this.#readiness = new Readiness(parts.db, this.#entry, this.#appender)
    this.#lastUses = new LastUses(parts.db, parts.log)
    this.#figures = new FigureRecorder(parts.db, parts.log)
    this.#apiChanges = new ApiChangeRecorder(parts.db, parts.log)
    const settings = { config: () => this.#config, reload: () => this.#reload() }
    this.#settings = new ProcessSettingsKeeper({ db: parts.db, log: parts.log, ...settings })
    const observer = this.#figures.besides(parts.telemetry?.besides(this.#metrics.observer) ?? this.#metrics.observer)
    this.#observer = {
      ...observer,
      count: (name, labels, by) => {
        if (name === 'deliveries_total') this.#deliveredAt = performance.now()
        observer.count(name, labels, by)
      },
    }
    const { db, clock, log, load, secrets } = parts
    const report = (account: string, sentence: string, ms: number) => {
      if (ms > LONG_PAUSE_MS) log.warn({ account, waitMs: ms }, `${sentence}; the account isn't read until then; deliveries are applied`)
    }
    this.#pauses = new AccountPauses({ db, clock, log, clients: () => this.#clients.current(), report })
    this.#clients = new UpstreamClients({
      clock,
      log,
      observer: this.#observer,
      apiChanges: this.#apiChanges,
      credentialUses: this.#lastUses,
      pauses: this.#pauses,
    })
    const graceMs = () => this.#config.shutdownGraceMs
    this.#groups = new ServiceGroups({ clock, log, graceMs, onFailure: (error) => this.#failure.reject(error) })
    const apply = (config: Config) => this.#apply(config)
    this.#reloader = new Reloader({ load, current: () => this.#config, apply, secrets, log, observer })
    // Prevents an unhandled rejection if the process fails while nothing awaits `failed`.
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
    const { role, clock, log, db, closing } = this.#p
    const config = this.#config
    if (role !== 'work') {
      this.#receiver = await startReceiver({
        config: config.receiver,
        accounts: config.accounts,
        appender: this.#appender,
        rejectedStore: new RejectedStore(db, log),
        lastUses: this.#lastUses,
        keepRejections: (rejected) => keepRejectedConnections(db, rejected),
        clock,
        log,
        observer: this.#observer,
      })
      closing.defer(() => this.#receiver?.stop(0))
    }
    this.#ops = await this.#startOps()
    closing.defer(() => this.#ops?.close())
    closing.defer(() => this.#clients.close())
    closing.defer(() => this.#groups.close())
    const clients = this.#clients.prepare(config)
    await clients.keep()
    await this.#pauses.exchange()
    await retryChanged(db, config, log)
    await this.#groups.change(await this.#groups.prepare(this.#groupsOf(config, clients)))
    this.#started.resolve()
  }

  async reload(): Promise<ReloadResult> {
    const { db, log } = this.#p
    return await signalledReload(db, log, () => this.#reload())
  }

  /**
   * Waits until startup is finished, then reloads the settings. The ops server accepts reload requests during
   * startup. Never rejects.
   */
  async #reload(): Promise<ReloadResult> {
    await this.#started.promise
    return await this.#reloader.reload()
  }

  async stop(): Promise<void> {
    const { clock, log, closing } = this.#p
    const { shutdownGraceMs: graceMs } = this.#config
    log.info('stopping: rejecting new deliveries and finishing work in flight')
    this.#readiness.drain()
    this.#stopping.abort(new Error('the process is stopping'))
    this.#reloader.close()
    const over = new AbortController()
    const grace = clock.sleep(graceMs, over.signal).then(() => 'over' as const)
    this.#groups.stop('first')
    await this.#receiver?.stop(graceMs)
    this.#groups.stop('all')
    const ended = this.#groups.ended().then(() => 'ended' as const)
    if ((await Promise.race([ended, grace])) === 'over' && !over.signal.aborted) {
      log.warn(`some work did not finish within SHUTDOWN_GRACE (${graceMs / 1000} s); the next start continues it`)
    }
    over.abort()
    const closed = closing.disposeAsync()
    if (await endsWithin(clock, CLOSE_MS, closed)) await closed
    log.info('stopped')
  }

  /** Applies new settings. `#prepare` runs first: if `#prepare` fails, the old settings stay in force. */
  async #apply(config: Config): Promise<void> {
    const { db, log } = this.#p
    const clients = this.#clients.prepare(config)
    const change = await this.#prepare(config, clients)
    this.#config = config
    log.level = config.log.level
    db.protection.use(protectionSettings(config))
    // Applies stored pauses to the new clients. The service requested these pauses from earlier clients.
    await this.#pauses.exchange(clients.clients)
    await this.#groups.change(change)
    await clients.keep()
    await endLapsedSessions(db, config, log)
    await retryChanged(db, config, log)
  }

  /**
   * Prepares new settings: creates the service groups, registers new names in the database, and sets the
   * receiver's accounts.
   * @throws if the settings can't be used, after closing the new groups and clients.
   */
  async #prepare(config: Config, clients: ClientChange): Promise<GroupChange> {
    let change: GroupChange | null = null
    try {
      change = await this.#groups.prepare(this.#groupsOf(config, clients))
      await registerNames(this.#p.db, config)
      this.#receiver?.setAccounts(config.accounts)
      return change
    } catch (error) {
      if (change !== null) await this.#groups.discard(change)
      await clients.discard()
      throw error
    }
  }

  #noteDiffering({ account, deliveryId, bodySha256, isCompared }: DifferingDelivery): void {
    this.#observer.count('deliveries_differing_total', { account, first: isCompared ? 'kept' : 'removed' })
    const what = isCompared
      ? 'arrived again with a different body'
      : 'arrived again after its body was removed, so the two cannot be compared'
    this.#p.log.warn(
      { account, delivery: deliveryId, sha256: bodySha256 },
      `delivery ${deliveryId} ${what}. The first body is kept, and the new body is stored as a hash. The feeds of its submission are read`,
    )
  }

  async #startOps(): Promise<OpsHttp> {
    const { clock, log, db } = this.#p
    const { host, port } = this.#config.ops
    const { registry } = this.#metrics
    const gauges = new StoreGauges(registry, db, log, () => this.#config, this.#readiness)
    return await startOpsHttp({
      host,
      port,
      notReady: () => this.#readiness.notReady(),
      metrics: async () => {
        await gauges.refresh()
        return { type: registry.contentType, text: await registry.metrics() }
      },
      admin: {
        db,
        clock,
        log,
        observer: this.#observer,
        version: this.#entry.version,
        signal: this.#stopping.signal,
        config: () => this.#config,
        reload: () => this.#reload(),
      },
    })
  }

  #groupsOf(config: Config, { clients }: ClientChange): ServiceGroup[] {
    const { role, clock, log, db } = this.#p
    const heartbeat = new Heartbeat(db, log, this.#entry, (sharing) => this.#groups.shareAmong(sharing), { marks: new MarkKeeper(db) })
    const always = [heartbeat, this.#figures, this.#lastUses, this.#settings].map((service) => groupOf(service))
    if (role === 'receive') return always
    const parts = { config, db, clock, log, observer: this.#observer, clients, senders: this.#senders, apiChanges: this.#apiChanges }
    const kept = [this.#apiChanges, this.#pauses].map((service) => groupOf(service))
    return [...always, ...kept, ...workingGroups({ ...parts, restMs: (processedMs) => this.#restMs(processedMs) })]
  }

  #restMs(processedMs: number): number {
    const { db, role } = this.#p
    const shared = db.kind === 'sqlite' && role === 'all' && performance.now() - this.#deliveredAt < MOMENT_MS
    return shared ? Math.min(MOST_REST_MS, processedMs * REST_SHARE) : 0
  }
}
