import packageJson from '../../package.json' with { type: 'json' }
import type { Service } from '../base/service.ts'
import { type Config, proxySettings } from '../config/config.ts'
import type { DriftWatch } from '../model/interface-drift.ts'
import { Notifier } from '../ops/alarms/notifier.ts'
import { Senders } from '../ops/alarms/senders.ts'
import { type ClockJudge, ClockWatch } from '../ops/clocks/clock-watch.ts'
import { LostWebhookCounter } from '../ops/metrics/lost-webhooks.ts'
import { showMend } from '../ops/operations/index.ts'
import { Discovery } from '../poll/discovery.ts'
import { ExtraReads } from '../poll/extra-reads.ts'
import type { ServiceParts } from '../store/engine/db.ts'
import type { UpstreamClient } from '../upstream/client.ts'
import { upstreamSettings } from './clients.ts'
import { groupOf, type ServiceGroup } from './service-groups.ts'

export interface BackgroundParts extends ServiceParts {
  readonly config: Config
  /** Told of the body of each delivery that was settled. */
  readonly drift?: DriftWatch
  /** The client of each configured account, by name. */
  readonly clients: ReadonlyMap<string, UpstreamClient>
}

/**
 * The services that are neither a stage nor a server: alarms, reconciliation, retention, discovery. Creating one starts nothing. Libraries
 * that only some of them need, such as cron or e-mail, are loaded by `lazily`, to keep the start fast. Each may use an account's client, so
 * all are replaced when a client is.
 */
export function operatingGroups(parts: BackgroundParts, clocks: ClockJudge = new ClockWatch(parts)): ServiceGroup[] {
  const { config, db, log, observer } = parts
  const names = config.accounts.map((account) => account.name)
  const groups = [
    groupOf(new LostWebhookCounter(db, log, observer, names, config.webhooks.lostAfterMs), [names, config.webhooks]),
    ...discoveries(parts),
    ...extraReads(parts),
    summing(parts),
    reconciling(parts),
    retention(parts, clocks),
    ...backups(parts),
    ...verifications(parts),
    protecting(parts),
    ...alarming(parts, clocks),
  ]
  const reading = config.accounts.map((account) => upstreamSettings(account, config))
  return groups.map((group) => ({ ...group, settings: [group.settings, reading] }))
}

/** Reads the paths that the settings of an account name. */
function extraReads({ config, clients, ...common }: BackgroundParts): ServiceGroup[] {
  return config.accounts.flatMap(({ name, extraReads: reads }) => {
    const client = clients.get(name)
    if (reads.length === 0 || client === undefined) return []
    return [groupOf(new ExtraReads({ ...common, account: name, client, reads }), [reads])]
  })
}

/** Discovers submissions of accounts whose settings name paths to probe. */
function discoveries({ config, clients, ...common }: BackgroundParts): ServiceGroup[] {
  return config.accounts.flatMap((settings) => {
    const client = clients.get(settings.name)
    if (settings.discovery === null || client === undefined) return []
    const service = new Discovery({ ...common, account: settings.name, client, ...settings.discovery })
    return [groupOf(service, [settings.discovery])]
  })
}

/** Reconciles on schedule and on request. */
function reconciling({ config, clients, ...common }: BackgroundParts): ServiceGroup {
  const { database, reconcile, cronTimezone, upstream, recordFields } = config
  const destinations = config.destinations.map(({ name }) => name)
  const service = lazily('reconcile', async () => {
    const { Reconciler } = await import('../reconcile/run/service.ts')
    const schedule = reconcile.cron === null ? null : { cron: reconcile.cron, timeZone: cronTimezone }
    const { budgetMs } = reconcile
    const how = { concurrency: upstream.concurrency, budgetMs, recordFields }
    return new Reconciler({ ...common, ...how, database, clients, destinations, schedule })
  })
  return groupOf(service, [reconcile, cronTimezone, destinations, recordFields])
}

/** Counts what sums up everything, once a minute. */
function summing({ config: { database }, ...common }: BackgroundParts): ServiceGroup {
  const service = lazily('sums', async () => {
    const { SumKeeper } = await import('../ops/status/sum-keeper.ts')
    return new SumKeeper({ ...common, database })
  })
  return groupOf(service)
}

/** Removes what is older than the settings say. */
function retention({ config, ...common }: BackgroundParts, clocks: ClockJudge): ServiceGroup {
  const service = lazily('retention', async () => {
    const { Retention } = await import('../ops/retention/retention.ts')
    return new Retention({ ...common, config, clocks })
  })
  return groupOf(service, [config.retention, config.cronTimezone, config.destinations.map(({ name }) => name)])
}

/** Backs up SQLite by a timetable. */
function backups({ config, ...common }: BackgroundParts): ServiceGroup[] {
  const { backup, database, cronTimezone: timeZone } = config
  if (backup.cron === null || database.kind !== 'sqlite') return []
  const settings = { ...backup, cron: backup.cron, timeZone }
  const service = lazily('backups', async () => {
    const { ScheduledBackups } = await import('../ops/backup/scheduled-backups.ts')
    return new ScheduledBackups({ ...common, source: database.path, settings })
  })
  return [groupOf(service, [settings])]
}

/** Asks destinations by their timetables what they have. */
function verifications({ config, ...common }: BackgroundParts): ServiceGroup[] {
  return config.destinations.flatMap((destination) => {
    if (destination.kind !== 'http' || destination.verify?.cron == null) return []
    const { cron, sample } = destination.verify
    const service = lazily(`verification ${destination.name}`, async () => {
      const { ScheduledVerification } = await import('../ops/verify/scheduled-verification.ts')
      const schedule = { cron, timeZone: config.cronTimezone }
      return new ScheduledVerification({ ...common, version: packageJson.version, config, destination, sample, schedule })
    })
    return [groupOf(service, [destination, config.cronTimezone, config.upstream])]
  })
}

/** Brings rows that were stored under other settings to what `PROTECT` says. */
function protecting({ config, ...common }: BackgroundParts): ServiceGroup {
  const service = lazily('protect', async () => {
    const { ProtectStep } = await import('../ops/protect/protect-step.ts')
    return new ProtectStep(common)
  })
  return groupOf(service, [config.protect, config.taxIdFields])
}

/** Evaluates the alarm rules and notifies operators. */
function alarming({ config, clients, ...common }: BackgroundParts, clocks: ClockJudge): ServiceGroup[] {
  const { clock } = common
  const proxy = proxySettings(config)
  const watch = lazily('alarm watch', async () => {
    const { AlarmWatch } = await import('../ops/alarms/alarm-watch.ts')
    return new AlarmWatch({ ...common, showMend, config, clients, clocks, senders: new Senders(config.operators, { clock, proxy }) })
  })
  const { destinations, operators, poll, webhooks, reconcile, backup, cronTimezone, documents } = config
  const watched = groupOf(watch, [destinations, operators, poll, webhooks, reconcile, backup, cronTimezone, documents])
  // One notifier each, so that an operator that does not answer delays nobody else.
  const telling = config.operators.map((operator) =>
    groupOf(new Notifier({ ...common, senders: new Senders([operator], { clock, proxy }) }), [operator]),
  )
  return [watched, ...telling]
}

/** A service whose code is loaded when it starts. */
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
