import { ManualClock } from '../../../src/base/clock.ts'
import { type Observer, silentObserver } from '../../../src/base/observer.ts'
import { type Config, loadConfig } from '../../../src/config/config.ts'
import type { ClockJudgement } from '../../../src/model/clocks.ts'
import { timeFromMs } from '../../../src/model/time.ts'
import { AlarmWatch, type AlarmWatchParts } from '../../../src/ops/alarms/alarm-watch.ts'
import { Notifier } from '../../../src/ops/alarms/notifier.ts'
import { Senders } from '../../../src/ops/alarms/senders.ts'
import { showFix } from '../../../src/ops/operations/index.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { InboxAppender } from '../../../src/store/inbox/append.ts'
import { type AlarmRow, listAlarms } from '../../../src/store/operators/alarms.ts'
import { ensureDestinations } from '../../../src/store/outbox/destinations.ts'
import { ensureAccounts, pinBrokerage } from '../../../src/store/reads/accounts.ts'
import { hook, withSettings } from '../../config/support.ts'
import { type OpenedDatabase, silentLog, type TestDatabase } from '../../tools/databases.ts'
import { applyAll } from '../../tools/mirror.ts'
import { trackFact, uuid } from '../../tools/observations.ts'
import { closedAtEnd } from '../../tools/servers.ts'

export const ACCOUNT = 'acme'
export const SUBMISSION = uuid(9, 1)
export const MINUTE = 60_000
export const HOUR = 60 * MINUTE
const CLEARED = 6 * MINUTE

const GIB = 1024 ** 3

export interface WatchRig {
  readonly db: Db
  readonly file: string
  readonly clock: ManualClock
  readonly config: Config
  readonly parts: AlarmWatchParts
  readonly watch: AlarmWatch
  /** What a test sets: the account's clock skew, the free disk space, and the clocks' judgement. */
  readonly world: { skewMs: number | null; freeBytes: number; clocks: ClockJudgement }
  look(afterMs?: number): Promise<string[]>
  lookLater(): Promise<string[]>
  alarm(name: string): Promise<AlarmRow | undefined>
  deliver(count?: number): Promise<void>
  notifier(observer?: Observer): Notifier
}

const signal = new AbortController().signal

/** A settings file with one account and what a test adds. JSON is YAML too. */
function settingsWith(more: Readonly<Record<string, unknown>>, env: Readonly<Record<string, string>> = {}): Config {
  const account = {
    name: ACCOUNT,
    default: true,
    base_url: 'https://api.service.test/api/v1',
    client_credentials: [{ id: 'bac_one', secret: 'bas_one-secret' }],
    webhook_secrets: [hook(1)],
  }
  return loadConfig(withSettings({ accounts: [account], ...more }, env))
}

/** A database with one account and one submission, and a watch over it. The time is the real one, because Postgres has its own clock. */
export async function openWatch(
  database: TestDatabase,
  settings: Readonly<Record<string, unknown>> = {},
  env: Readonly<Record<string, string>> = {},
): Promise<WatchRig> {
  const clock = new ManualClock(Date.now())
  const opened: OpenedDatabase = await closedAtEnd(database.open({ clock }))
  const { db } = opened
  const config = settingsWith(settings, env)
  await ensureAccounts(db, [ACCOUNT])
  await pinBrokerage(db, ACCOUNT, { brokerage: 'brokerage', clientId: 'bac_one' })
  await ensureDestinations(db, config.destinations)
  await applyAll(db, [trackFact(ACCOUNT, SUBMISSION)])
  const clocks: ClockJudgement = { apart: [], isTrusted: true, isConfirmed: true, doubt: null }
  const world = { skewMs: null as number | null, freeBytes: 100 * GIB, clocks }
  const parts: AlarmWatchParts = {
    db,
    config,
    log: silentLog,
    observer: silentObserver,
    showFix,
    clients: new Map([[ACCOUNT, { clockSkewMs: () => world.skewMs }]]),
    // The test's clock moves, Postgres's doesn't.
    clocks: { judge: async () => world.clocks },
    senders: new Senders(config.operators, { clock, proxy: {} }),
    diskSpace: async () => ({ freeBytes: world.freeBytes, sizeBytes: 200 * GIB }),
  }
  const watch = new AlarmWatch(parts)
  const firing = async () => (await listAlarms(db.read)).filter(({ state }) => state === 'firing').map(({ name }) => name)
  let delivered = 0
  return {
    db,
    clock,
    config,
    parts,
    watch,
    world,
    file: opened.config.kind === 'sqlite' ? opened.config.path : '',
    async look(afterMs = 30_000) {
      clock.advance(afterMs)
      await watch.evaluate(signal)
      return await firing()
    },
    async lookLater() {
      for (const ms of [30_000, CLEARED / 2, CLEARED / 2]) {
        clock.advance(ms)
        await watch.evaluate(signal)
      }
      return await firing()
    },
    alarm: async (name) => (await listAlarms(db.read)).find((row) => row.name === name),
    async deliver(count = 1) {
      const items = Array.from({ length: count }, () => {
        delivered += 1
        const deliveryId = `msg_${delivered}`
        const headers = { 'svix-id': deliveryId }
        return { account: ACCOUNT, deliveryId, receivedAt: timeFromMs(clock.now()), headers, body: Buffer.from('{}'), secret: 1 }
      })
      await new InboxAppender(db).append(items)
    },
    notifier: (observer = silentObserver) =>
      new Notifier({ db, log: silentLog, observer, senders: new Senders(config.operators, { clock, proxy: {} }) }),
  }
}
