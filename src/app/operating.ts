import packageJson from '../../package.json' with { type: 'json' }
import type { Service } from '../base/service.ts'
import { type Config, proxySettings } from '../config/config.ts'
import type { ApiChangeWatch } from '../model/api-changes.ts'
import { AlarmWatch } from '../ops/alarms/alarm-watch.ts'
import { Notifier } from '../ops/alarms/notifier.ts'
import { Senders } from '../ops/alarms/senders.ts'
import { ScheduledBackups } from '../ops/backup/scheduled-backups.ts'
import { type ClockJudge, ClockWatch } from '../ops/clocks/clock-watch.ts'
import { LostWebhookCounter } from '../ops/metrics/lost-webhooks.ts'
import { showFix } from '../ops/operations/index.ts'
import { ProtectStep } from '../ops/protect/protect-step.ts'
import { Retention } from '../ops/retention/retention.ts'
import { SumKeeper } from '../ops/status/sum-keeper.ts'
import { Discovery } from '../poll/discovery.ts'
import { ExtraReads } from '../poll/extra-reads.ts'
import type { ServiceParts } from '../store/engine/db.ts'
import type { UpstreamClient } from '../upstream/client.ts'
import { upstreamSettings } from './clients.ts'
import { groupOf, type ServiceGroup } from './service-groups.ts'

export interface BackgroundParts extends ServiceParts {
  readonly config: Config
  /** Receives the JSON of each settled delivery, to detect API changes. */
  readonly apiChanges?: ApiChangeWatch
  /** Key: account name. */
  readonly clients: ReadonlyMap<string, UpstreamClient>
}

/**
 * @returns the groups of background services, such as alarms, reconciliation, retention, and discovery. Nothing is
 * started yet. A group restarts if its own settings or the client settings of any account change.
 */
export function operatingGroups(parts: BackgroundParts, clocks: ClockJudge = new ClockWatch(parts)): ServiceGroup[] {
  const { config } = parts
  const names = config.accounts.map((account) => account.name)
  const groups = [
    groupOf(new LostWebhookCounter({ ...parts, accounts: names, lostAfterMs: config.webhooks.lostAfterMs }), [names, config.webhooks]),
    ...discoveries(parts),
    ...extraReads(parts),
    groupOf(new SumKeeper({ ...parts, database: config.database })),
    reconciling(parts),
    groupOf(new Retention({ ...parts, clocks }), [config.retention, config.cronTimezone, config.destinations.map(({ name }) => name)]),
    ...backups(parts),
    ...verifications(parts),
    // Converts rows that were stored under other `PROTECT` settings.
    groupOf(new ProtectStep(parts), [config.protect, config.taxIdFields]),
    ...alarming(parts, clocks),
  ]
  const reading = config.accounts.map((account) => upstreamSettings(account, config))
  return groups.map((group) => ({ ...group, settings: [group.settings, reading] }))
}

function extraReads({ config, clients, ...common }: BackgroundParts): ServiceGroup[] {
  return config.accounts.flatMap(({ name, extraReads: reads }) => {
    const client = clients.get(name)
    if (reads.length === 0 || client === undefined) return []
    return [groupOf(new ExtraReads({ ...common, account: name, client, reads }), [reads])]
  })
}

function discoveries({ config, clients, ...common }: BackgroundParts): ServiceGroup[] {
  return config.accounts.flatMap((settings) => {
    const client = clients.get(settings.name)
    if (settings.discovery === null || client === undefined) return []
    const service = new Discovery({ ...common, account: settings.name, client, ...settings.discovery })
    return [groupOf(service, [settings.discovery])]
  })
}

function reconciling({ config, clients, ...common }: BackgroundParts): ServiceGroup {
  const { database, reconcile, cronTimezone, upstream, recordFields } = config
  const destinations = config.destinations.map(({ name }) => name)
  const schedule = reconcile.cron === null ? null : { cron: reconcile.cron, timeZone: cronTimezone }
  const how = { concurrency: upstream.concurrency, budgetMs: reconcile.budgetMs, recordFields }
  const service = lazily('reconcile', async () => {
    const { Reconciler } = await import('../reconcile/run/service.ts')
    return new Reconciler({ ...common, ...how, database, clients, destinations, schedule })
  })
  return groupOf(service, [reconcile, cronTimezone, destinations, recordFields])
}

function backups({ config, ...common }: BackgroundParts): ServiceGroup[] {
  const { backup, database, cronTimezone: timeZone } = config
  if (backup.cron === null || database.kind !== 'sqlite') return []
  const settings = { ...backup, cron: backup.cron, timeZone }
  return [groupOf(new ScheduledBackups({ ...common, source: database.path, settings }), [settings])]
}

function verifications({ config, ...common }: BackgroundParts): ServiceGroup[] {
  return config.destinations.flatMap((destination) => {
    if (destination.kind !== 'http' || destination.verify?.cron == null) return []
    const { cron, sample } = destination.verify
    const schedule = { cron, timeZone: config.cronTimezone }
    const service = lazily(`verification ${destination.name}`, async () => {
      const { ScheduledVerification } = await import('../ops/verify/scheduled-verification.ts')
      return new ScheduledVerification({ ...common, version: packageJson.version, config, destination, sample, schedule })
    })
    return [groupOf(service, [destination, config.cronTimezone, config.upstream])]
  })
}

function alarming({ config, clients, ...common }: BackgroundParts, clocks: ClockJudge): ServiceGroup[] {
  const { clock } = common
  const proxy = proxySettings(config)
  const senders = new Senders(config.operators, { clock, proxy })
  const watch = new AlarmWatch({ ...common, showFix, config, clients, clocks, senders })
  const { destinations, operators, poll, webhooks, reconcile, backup, cronTimezone, documents } = config
  const watched = groupOf(watch, [destinations, operators, poll, webhooks, reconcile, backup, cronTimezone, documents])
  // Each recipient has its own notifier. A slow recipient then doesn't delay the others.
  const notifiers = config.operators.map((operator) =>
    groupOf(new Notifier({ ...common, senders: new Senders([operator], { clock, proxy }) }), [operator]),
  )
  return [watched, ...notifiers]
}

/** Creates a service that loads its code on its first run. This keeps startup fast. */
function lazily(name: string, load: () => Promise<Service>): Service {
  let service: Service | null = null
  return {
    name,
    async run(signal) {
      service ??= await load()
      await service.run(signal)
    },
  }
}
