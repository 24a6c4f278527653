import { Gauge, type Registry } from 'prom-client'
import { messageOf } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import type { Config } from '../../config/config.ts'
import { surpriseKinds } from '../../model/api-changes.ts'
import { msFromTime, type TimeText } from '../../model/time.ts'
import { logEnds } from '../../store/changes/log-info.ts'
import { oldestReconciled } from '../../store/completeness/completeness.ts'
import type { Db } from '../../store/engine/db.ts'
import { PartReader } from '../../store/engine/part-reader.ts'
import { COUNT_CAP } from '../../store/engine/sql.ts'
import { webhookLoss } from '../../store/operators/alarm-queries.ts'
import { lastBackups } from '../../store/operators/backups.ts'
import { countDestinations, oldestQueued } from '../../store/outbox/destinations.ts'
import { listAccounts } from '../../store/reads/accounts.ts'
import { listPauses } from '../../store/reads/pauses.ts'
import type { AccountsTable } from '../../store/schema/reads.ts'
import { apiChangeCounts } from '../../store/upkeep/api-changes.ts'
import { failingProbes, freshnessGauges, inboxGauges, oldestDue, rankNames, SMALL_COUNT_CAP } from '../../store/upkeep/gauges.ts'
import { alarmGauges, alarmValues, storeUnavailableValue } from '../alarms/gauges.ts'
import { compareClocks } from '../clocks/clock-watch.ts'
import type { Readiness } from '../status/readiness.ts'
import { type Definition, mapValues, metric } from './metrics.ts'

/** Minimum ms between two reads of the database. Frequent scrapes get cached values. */
const CACHE_MS = 5_000
const STATES = ['active', 'paused', 'suspended'] as const

const definitions = {
  unread_parts: [
    '1 for each part of these gauges that could not be read at the last attempt, for example because of a locked table.',
    ['part'],
  ],
  store_up: ['1 if the database could be written at the last attempt, else 0.', []],
  inbox_deliveries: [`Deliveries that wait (ready), are set aside (aside) or dead-lettered (dead), counted up to ${COUNT_CAP}.`, ['state']],
  inbox_oldest_seconds: ['Age of the oldest delivery in the state; 0 if there is none.', ['state']],
  dead_letters: [`Dead-lettered deliveries, by account, counted up to ${COUNT_CAP}.`, ['account']],
  feed_lag_seconds: ['Time since the most overdue read was due, by rank: live, routine, failing.', ['account', 'rank']],
  freshness_seconds: ['Time since the oldest last read of a submission, bind request, policy or insured.', ['account', 'read']],
  never_read: [
    `Submissions, bind requests, policies and insureds without a complete read, counted up to ${SMALL_COUNT_CAP}.`,
    ['account', 'read'],
  ],
  webhook_loss_ratio: ['Share of the expected webhooks of the last 24 hours that were lost.', ['account']],
  reconciled_age_seconds: ['Time since the least recently reconciled submission was reconciled; absent if none ever was.', ['account']],
  discovery_failing: [`Failing probed paths, counted up to ${SMALL_COUNT_CAP}.`, ['account']],
  account_state: ['1 for the current state of the account: active, paused, suspended.', ['account', 'state']],
  account_pause_seconds: ['Remaining pause that the service asked for (Retry-After), else 0.', ['account']],
  clock_ahead_seconds: [
    "How far this machine's clock is ahead of another clock, or of the newest recorded time; only differences of a minute or more.",
    ['clock'],
  ],
  api_changes: [
    'Undocumented fields, values and types, and missing required fields, by kind: field, value, type, missing. `status --api-changes` lists them.',
    ['account', 'kind'],
  ],
  backup_age_seconds: ['SQLite: age of the last scheduled or manual backup; absent if there is none.', []],
  backup_trial_age_seconds: ['SQLite: time since the last test restore of a backup; absent if there was none.', []],
  last_seq: ['The last number of the change log.', []],
  destination_state: ['1 for the current state of the destination: active, paused, suspended.', ['destination', 'state']],
  destination_rows: [`Rows of the outbox by state: queued, dead, unknown; each counted up to ${COUNT_CAP}.`, ['destination', 'state']],
  destination_oldest_seconds: ['Age of the oldest queued row; 0 if there is none.', ['destination']],
  destination_filtered: ['Changes that the filter of the destination has excluded.', ['destination']],
  destination_behind: ['Rows of the change log that are not yet queued for the destination.', ['destination']],
  ...alarmGauges,
} as const satisfies Record<string, Definition>

type Name = keyof typeof definitions
type Value = readonly [name: Name, labels: Record<string, string>, value: number]

/**
 * Gauges that are read from the database when Prometheus scrapes.
 * The queries use indexes and never read all submissions. Their results are cached for `CACHE_MS`.
 * If the database can't be read, only `store_up` (0) and the alarm `store_unavailable` have values.
 * If the database can be read but not written, all gauges have values.
 */
export class StoreGauges {
  readonly #db: Db
  readonly #log: Log
  readonly #config: () => Pick<Config, 'accounts'>
  readonly #readiness: Pick<Readiness, 'storeFault'>
  readonly #gauges: Record<Name, Gauge>
  #readAt = Number.NEGATIVE_INFINITY
  #reading: Promise<void> | null = null

  /** @param config returns the current settings. */
  constructor(registry: Registry, db: Db, log: Log, config: () => Pick<Config, 'accounts'>, readiness: Pick<Readiness, 'storeFault'>) {
    this.#readiness = readiness
    this.#db = db
    this.#log = log
    this.#config = config
    this.#gauges = mapValues<Name, Definition, Gauge>(definitions, (name, defined) => new Gauge(metric(registry, name, defined)))
  }

  /** Reads the gauges if they are older than `CACHE_MS`. Never throws. */
  async refresh(): Promise<void> {
    if (this.#db.clock.steady() - this.#readAt < CACHE_MS) return
    this.#reading ??= this.#read().finally(() => {
      this.#reading = null
    })
    await this.#reading
  }

  async #read(): Promise<void> {
    const fault = this.#readiness.storeFault()
    const parts = new PartReader(this.#db.clock)
    try {
      const shown = await this.#values(parts)
      parts.requireAny()
      for (const gauge of Object.values(this.#gauges)) gauge.reset()
      for (const [name, labels, value] of shown) this.#gauges[name].set(labels, value)
      for (const { part, reason } of parts.unread) {
        this.#gauges.unread_parts.set({ part }, 1)
        this.#log.warn(`the gauges of ${part} could not be read from the database: ${reason}`)
      }
      this.#showStore((await fault) === null)
    } catch (error) {
      for (const gauge of Object.values(this.#gauges)) gauge.reset()
      this.#showStore(false)
      this.#log.warn({ err: error }, `the gauges of /metrics could not be read from the database: ${messageOf(error)}`)
    }
    this.#readAt = this.#db.clock.steady()
  }

  #showStore(isUp: boolean): void {
    this.#gauges.store_up.set(isUp ? 1 : 0)
    const [name, labels, value] = storeUnavailableValue
    if (!isUp) this.#gauges[name].set(labels, value)
  }

  async #values(parts: PartReader): Promise<Value[]> {
    const q = this.#db.readNoWait
    const accounts = await parts.read('accounts', () => listAccounts(q), [])
    const names = accounts.map(({ account }) => account)
    const asks: readonly (readonly [part: string, ask: () => Promise<Value[]>])[] = [
      ['the change log', async () => [['last_seq', {}, (await logEnds(q)).last_seq]]],
      ['the inbox', () => this.#inbox(names)],
      ...accounts.map((row) => [`account ${row.account}`, () => this.#account(row)] as const),
      ...names.map((name) => [`completeness of account ${name}`, () => this.#completeness(name)] as const),
      ['API changes', () => this.#apiChanges(names)],
      ['destinations', () => this.#destinations()],
      ['backups', () => this.#backups()],
      [
        'clocks',
        async () => (await compareClocks(q)).apart.map(({ clock, aheadMs }) => ['clock_ahead_seconds', { clock }, aheadMs / 1000]),
      ],
      ['alarms', () => alarmValues(q)],
    ]
    const values: Value[] = []
    for (const [part, ask] of asks) values.push(...(await parts.read(part, ask, [])))
    return values
  }

  async #inbox(accounts: readonly string[]): Promise<Value[]> {
    const inbox = await inboxGauges(this.#db.readNoWait, accounts)
    const values: Value[] = []
    for (const state of ['ready', 'aside', 'dead'] as const) {
      const gauges = inbox.filter((gauge) => gauge.state === state)
      values.push(['inbox_deliveries', { state }, gauges.reduce((sum, gauge) => sum + gauge.count, 0)])
      values.push(['inbox_oldest_seconds', { state }, Math.max(...gauges.map((gauge) => this.#age(gauge.oldest_at)), 0)])
    }
    for (const { account, state, count } of inbox)
      if (state === 'dead' && account !== null) values.push(['dead_letters', { account }, count])
    return values
  }

  async #account({ account, state }: Pick<AccountsTable, 'account' | 'state'>): Promise<Value[]> {
    const q = this.#db.readNoWait
    const pauses = await listPauses(q)
    const values: Value[] = [['account_pause_seconds', { account }, (pauses.find((each) => each.account === account)?.ms ?? 0) / 1000]]
    for (const each of STATES) values.push(['account_state', { account, state: each }, each === state ? 1 : 0])
    const due = await oldestDue(q, account)
    for (const rank of rankNames) values.push(['feed_lag_seconds', { account, rank }, this.#age(due[rank])])
    for (const { read, oldestAt, never } of await freshnessGauges(q, account)) {
      values.push(['freshness_seconds', { account, read }, this.#age(oldestAt)], ['never_read', { account, read }, never])
    }
    return values
  }

  async #apiChanges(accounts: readonly string[]): Promise<Value[]> {
    const counts = await apiChangeCounts(this.#db.readNoWait)
    return accounts.flatMap((account) =>
      surpriseKinds.map((kind): Value => {
        const seen = counts.find((one) => one.account === account && one.kind === kind)
        return ['api_changes', { account, kind }, seen?.count ?? 0]
      }),
    )
  }

  async #completeness(account: string): Promise<Value[]> {
    const q = this.#db.readNoWait
    const { expected, lost } = await webhookLoss(q, account)
    const probed = this.#config().accounts.find(({ name }) => name === account)?.discovery?.paths ?? []
    return [
      ['webhook_loss_ratio', { account }, expected === 0 ? 0 : lost / expected],
      ['discovery_failing', { account }, await failingProbes(q, account, probed)],
      ...this.#ageIfAny('reconciled_age_seconds', { account }, await oldestReconciled(q, account)),
    ]
  }

  async #backups(): Promise<Value[]> {
    if (this.#db.kind === 'postgres') return []
    const { made_at, tried_at } = await lastBackups(this.#db.readNoWait)
    return [...this.#ageIfAny('backup_age_seconds', {}, made_at), ...this.#ageIfAny('backup_trial_age_seconds', {}, tried_at)]
  }

  async #destinations(): Promise<Value[]> {
    const q = this.#db.readNoWait
    const { last_seq } = await logEnds(q)
    const values: Value[] = []
    for (const { destination, state, cursor, queued, dead, unknown, filtered } of await countDestinations(q)) {
      for (const each of STATES) values.push(['destination_state', { destination, state: each }, each === state ? 1 : 0])
      for (const [name, rows] of Object.entries({ queued, dead, unknown })) {
        values.push(['destination_rows', { destination, state: name }, rows])
      }
      const oldest = queued === 0 ? null : await oldestQueued(q, destination)
      values.push(['destination_oldest_seconds', { destination }, this.#age(oldest)])
      values.push(['destination_filtered', { destination }, filtered])
      values.push(['destination_behind', { destination }, Math.max(0, last_seq - cursor)])
    }
    return values
  }

  #ageIfAny(name: Name, labels: Record<string, string>, at: TimeText | null): Value[] {
    return at === null ? [] : [[name, labels, this.#age(at)]]
  }

  /** @returns seconds since `at`; 0 if `at` is null or in the future. */
  #age(at: TimeText | null): number {
    return at === null ? 0 : Math.max(0, (this.#db.clock.now() - msFromTime(at)) / 1000)
  }
}
