import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Observer } from '../base/observer.ts'
import type { Service } from '../base/service.ts'
import { type Config, proxySettings } from '../config/config.ts'
import { Notifier } from '../ops/alarms/notifier.ts'
import { Senders } from '../ops/alarms/senders.ts'
import { LostWebhooksTicker } from '../ops/metrics/lost-webhooks.ts'
import { Discovery } from '../poll/discovery.ts'
import type { Db } from '../store/engine/db.ts'
import type { UpstreamClient } from '../upstream/client.ts'

export interface OperatingParts {
  readonly config: Config
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  readonly observer: Observer
  /** The client of each account of the settings, by its name. */
  readonly clients: ReadonlyMap<string, UpstreamClient>
}

/** A service that runs in every process that works, and what of the settings it goes by. */
export interface Operating {
  readonly service: Service
  /**
   * When a reload changes one of these, the service is stopped and made anew; otherwise it is left alone. What reading from the service
   * goes by (the accounts but for their webhook secrets, `upstream`) need not be named: it counts for all.
   */
  readonly settings: readonly unknown[]
}

/**
 * The services around the mirror that are neither a stage nor a server: what watches, proves, cleans up and warns. Making one does
 * nothing yet. What only some need, like a library for cron or e-mail, is loaded by `lazily`, so that the start is not slower for it.
 */
export function createOperating(parts: OperatingParts): Operating[] {
  const { config, db, log, observer } = parts
  const names = config.accounts.map((account) => account.name)
  return [
    { service: new LostWebhooksTicker(db, log, observer, names), settings: [names] },
    ...discoveries(parts),
    reconciling(parts),
    retention(parts),
    ...alarming(parts),
  ]
}

/** Looks for submissions of those accounts whose settings name paths to be probed. */
function discoveries({ config, clients, ...common }: OperatingParts): Operating[] {
  return config.accounts.flatMap((settings) => {
    const client = clients.get(settings.name)
    if (settings.discovery === undefined || client === undefined) return []
    const service = new Discovery({ ...common, account: settings.name, client, ...settings.discovery })
    return [{ service, settings: [settings.discovery] }]
  })
}

/** Reconciles by the timetable, and whenever somebody asks for it. */
function reconciling({ config, clients, ...common }: OperatingParts): Operating {
  const { database, reconcile, cronTimezone, upstream } = config
  const destinations = config.destinations.map(({ name }) => name)
  const service = lazily('reconcile', async () => {
    const { Reconciler } = await import('../reconcile/run/service.ts')
    const timetable = reconcile.cron === null ? null : { cron: reconcile.cron, timeZone: cronTimezone }
    const { budgetMs } = reconcile
    return new Reconciler({ ...common, database, clients, concurrency: upstream.concurrency, budgetMs, destinations, timetable })
  })
  return { service, settings: [reconcile, cronTimezone, destinations] }
}

/** Removes what is older than the settings say. */
function retention({ config, ...common }: OperatingParts): Operating {
  const service = lazily('retention', async () => {
    const { Retention } = await import('../ops/retention/retention.ts')
    return new Retention({ ...common, config })
  })
  return { service, settings: [config.retention, config.cronTimezone, config.destinations.map(({ name }) => name)] }
}

/** Looks for what operators should know of, and tells them. */
function alarming({ config, clients, ...common }: OperatingParts): Operating[] {
  const { clock } = common
  const proxy = proxySettings(config)
  const watch = lazily('watching for alarms', async () => {
    const { AlarmWatch } = await import('../ops/alarms/alarm-watch.ts')
    return new AlarmWatch({ ...common, config, clients, senders: new Senders(config.operators, { clock, proxy }) })
  })
  const watched = { service: watch, settings: [config.destinations, config.operators, config.poll, config.reconcile, config.cronTimezone] }
  // One for each: an operator that does not answer keeps nobody else waiting.
  const telling = config.operators.map((operator) => ({
    service: new Notifier({ ...common, senders: new Senders([operator], { clock, proxy }) }),
    settings: [operator],
  }))
  return [watched, ...telling]
}

/** A service whose code is loaded when it begins. */
export function lazily(name: string, load: () => Promise<Service>): Service {
  let service: Service | null = null
  return {
    name,
    async run(signal) {
      service ??= await load()
      await service.run(signal)
    },
  }
}
