import { type AccountConfig, type DestinationConfig, proxySettings } from '../config/config.ts'
import { type ClockJudge, ClockWatch } from '../ops/clocks/clock-watch.ts'
import { SetBackWatch } from '../ops/clocks/set-back-watch.ts'
import { AccountPoller } from '../poll/account-poller.ts'
import { ReadAllAgain } from '../poll/full-read-all.ts'
import { IdReads } from '../poll/id-reads.ts'
import { ReadSwitches } from '../poll/read-switches.ts'
import type { Sender } from '../push/send/sender.ts'
import { accessOf } from '../upstream/account-client.ts'
import { Worker } from '../work/worker.ts'
import { upstreamSettings } from './clients.ts'
import { type BackgroundParts, operatingGroups } from './operating.ts'
import { groupOf, type ServiceGroup } from './service-groups.ts'

export interface WorkingParts extends BackgroundParts {
  /**
   * @param processedMs duration of the worker's last batch, in ms.
   * @returns how long the worker pauses now, in ms.
   */
  readonly restMs: (processedMs: number) => number
  /** Running senders of all destinations. */
  readonly senders: Set<Sender>
}

export function workingGroups(parts: WorkingParts): ServiceGroup[] {
  const clocks = new ClockWatch(parts)
  const { config, db, restMs } = parts
  return [
    groupOf({ name: 'listener', run: (signal) => db.listen(signal) }),
    groupOf(new Worker({ ...parts, restMs })),
    readAllAgain(parts),
    groupOf(new SetBackWatch(parts)),
    ...config.accounts.flatMap((account) => accountGroup(parts, account)),
    ...documentGroups(parts),
    ...pushGroups(parts, clocks),
    ...operatingGroups(parts, clocks),
  ]
}

function accountGroup({ config, clients, ...common }: WorkingParts, account: AccountConfig): ServiceGroup[] {
  const client = clients.get(account.name)
  if (client === undefined) return []
  return [
    {
      name: `poller of ${account.name}`,
      settings: [...upstreamSettings(account, config), config.poll, config.replay, config.stateReads, config.recordFields],
      make: async () => {
        const switches = new ReadSwitches({ ...common, account: account.name, wanted: config.stateReads })
        const parts = {
          ...common,
          account: account.name,
          access: accessOf(account),
          client,
          policy: config,
          recordFields: config.recordFields,
          switches,
        }
        return {
          services: [switches, new AccountPoller({ ...parts, concurrency: config.upstream.concurrency }), new IdReads(parts)],
          shareAmong: ({ reading }) => client.shareAmong(reading),
        }
      },
    },
  ]
}

/** @returns the group that fetches documents if `DOCUMENTS` is `fetch`; otherwise no group. */
function documentGroups(parts: WorkingParts): ServiceGroup[] {
  const { config } = parts
  if (config.documents.mode !== 'fetch') return []
  return [
    {
      name: 'documents',
      settings: [config.documents, ...config.accounts.map((account) => upstreamSettings(account, config))],
      make: async () => (await import('./documents.ts')).makeDocuments(parts),
    },
  ]
}

/**
 * @returns the fan-out and one sender per destination; no group if no destination is configured. Loads the push code
 * when a group is made.
 */
function pushGroups(given: WorkingParts, clocks: ClockJudge): ServiceGroup[] {
  const parts = { ...given, clocks }
  const { config } = parts
  if (config.destinations.length === 0) return []
  const sender = (destination: DestinationConfig): ServiceGroup => ({
    name: `destination ${destination.name}`,
    settings: [destination, proxySettings(config), config.shutdownGraceMs],
    endsFirst: true,
    make: async () => (await import('./pushing.ts')).makeSender(parts, destination),
  })
  const fanOut: ServiceGroup = {
    name: 'fan-out',
    settings: [config.destinations],
    endsFirst: true,
    make: async () => (await import('./pushing.ts')).makeFanOut(parts),
  }
  return [fanOut, ...config.destinations.map(sender)]
}

function readAllAgain({ config, db, log }: WorkingParts): ServiceGroup {
  const accounts = config.accounts.map(({ name }) => name)
  return groupOf(new ReadAllAgain(db, log, accounts), accounts)
}
