import type { AccountConfig, DestinationConfig } from '../config/config.ts'
import { AccountPoller } from '../poll/account-poller.ts'
import { DueTimes } from '../poll/due-times.ts'
import type { Sender } from '../push/send/sender.ts'
import { Worker } from '../work/worker.ts'
import { readingSettings } from './clients.ts'
import { type Group, lasting } from './groups.ts'
import { createOperating, type OperatingParts } from './operating.ts'

export interface WorkingParts extends OperatingParts {
  /** How long the worker rests after a batch that took `workedMs`. */
  readonly restMs: (workedMs: number) => number
  /** Filled and emptied as destinations come and go. */
  readonly senders: Set<Sender>
}

/** What a process that applies, polls and pushes does, by its settings. */
export function workingGroups(parts: WorkingParts): Group[] {
  const { config, db, restMs } = parts
  return [
    lasting('listener', () => ({ name: 'listener', run: (signal) => db.listen(signal) })),
    lasting('worker', () => new Worker({ ...parts, restMs })),
    storedWaits(parts),
    ...config.accounts.flatMap((account) => accountGroup(parts, account)),
    ...pushGroups(parts),
    ...operatingGroups(parts),
  ]
}

/** Any of them may read with a client of an account, so all give way when one is replaced. */
function operatingGroups(parts: WorkingParts): Group[] {
  const { config } = parts
  const reading = config.accounts.map((account) => readingSettings(account, config))
  return createOperating(parts).map(({ service, settings }) => ({
    name: service.name,
    settings: [settings, reading],
    make: async () => ({ services: [service] }),
  }))
}

/** Polls one account. */
function accountGroup({ config, clients, ...common }: WorkingParts, account: AccountConfig): Group[] {
  const client = clients.get(account.name)
  if (client === undefined) return []
  return [
    {
      name: `poller of ${account.name}`,
      settings: [...readingSettings(account, config), config.poll, config.replay],
      make: async () => ({
        services: [
          new AccountPoller({ ...common, account: account.name, client, policy: config, concurrency: config.upstream.concurrency }),
        ],
        shareAmong: ({ reading }) => client.shareAmong(reading),
      }),
    },
  ]
}

/** Without a destination nothing of what pushes is loaded. */
function pushGroups(parts: WorkingParts): Group[] {
  const { config } = parts
  if (config.destinations.length === 0) return []
  const sender = (destination: DestinationConfig): Group => ({
    name: `destination ${destination.name}`,
    settings: [destination, config.upstream.proxy, config.shutdownGraceMs],
    endsFirst: true,
    make: async () => (await import('./pushing.ts')).makeSender(parts, destination),
  })
  const fanOut: Group = {
    name: 'fan-out',
    settings: [config.destinations],
    endsFirst: true,
    make: async () => (await import('./pushing.ts')).makeFanOut(parts),
  }
  return [fanOut, ...config.destinations.map(sender)]
}

function storedWaits({ config, db, clock, log }: WorkingParts): Group {
  const accounts = config.accounts.map(({ name }) => name)
  return {
    name: 'stored waits',
    settings: [accounts, config.poll, config.replay],
    make: async () => ({ services: [new DueTimes({ db, clock, log, accounts, policy: config })] }),
  }
}
