import { Gauge, type Registry } from 'prom-client'
import { messageOf } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import type { Config } from '../../config/config.ts'
import { surpriseKinds } from '../../model/interface-drift.ts'
import { msFromTime, type TimeText, timeFromMs } from '../../model/time.ts'
import { oldestProof } from '../../store/completeness/ledger.ts'
import type { Db } from '../../store/engine/db.ts'
import { PartReader } from '../../store/engine/part-reader.ts'
import { COUNT_CAP } from '../../store/engine/sql.ts'
import { webhookLoss } from '../../store/operators/alarm-queries.ts'
import { lastBackups } from '../../store/operators/backups.ts'
import { countDestinations, oldestQueued } from '../../store/outbox/destinations.ts'
import { listAccounts } from '../../store/reads/accounts.ts'
import { listPauses } from '../../store/reads/pauses.ts'
import type { AccountsTable } from '../../store/schema/reads.ts'
import {
  changeLogEnds,
  failingProbes,
  freshnessGauges,
  inboxGauges,
  oldestDue,
  rankNames,
  SMALL_COUNT_CAP,
} from '../../store/upkeep/gauges.ts'
import { interfaceDriftCounts } from '../../store/upkeep/interface-drift.ts'
import { alarmGauges, alarmValues, storeUnavailableValue } from '../alarms/gauges.ts'
import { compareClocks } from '../clocks/clock-watch.ts'
import type { Readiness } from '../status/readiness.ts'
import { type Definition, mapValues, metric } from './metrics.ts'

/** However often it is scraped, the database is read no more often than this. */
const CACHE_MS = 5_000
const DAY_MS = 86_400_000
const STATES = ['active', 'paused', 'suspended'] as const

const definitions = {
  unread_parts: [
    '1 for each part of these gauges that could not be read at the last attempt, because a table is locked for example.',
    ['part'],
  ],
  store_up: ['1 when the database could be written at the last attempt, else 0.', []],
  inbox_deliveries: [`Deliveries that wait (ready), are set aside (aside) or were given up (dead), counted up to ${COUNT_CAP}.`, ['state']],
  inbox_oldest_seconds: ['Age of the oldest such delivery; 0 when there is none.', ['state']],
  dead_letters: [`Deliveries given up, by account, counted up to ${COUNT_CAP}.`, ['account']],
  feed_lag_seconds: ['How long the most overdue read has been due, by rank: live, routine, failing.', ['account', 'rank']],
  freshness_seconds: [
    'Time since the last read of the submission, or of the bind request, policy or insured, whose read is the oldest.',
    ['account', 'read'],
  ],
  never_read: [
    `Submissions, or bind requests, policies and insureds, of which this was never read to the end, counted up to ${SMALL_COUNT_CAP}.`,
    ['account', 'read'],
  ],
  webhook_loss_ratio: ['Share of the records of the last 24 hours that no webhook announced, of those that one should have.', ['account']],
  proof_age_seconds: ['Age of the oldest proof of a submission by a reconcile run; absent when none was ever proven.', ['account']],
  discovery_failing: [`Probed paths that fail, counted up to ${SMALL_COUNT_CAP}.`, ['account']],
  account_state: ['1 for the state that the account is in: active, paused, suspended.', ['account', 'state']],
  account_pause_seconds: ['How long the account still waits because the service asked for a pause (Retry-After); else 0.', ['account']],
  clock_ahead_seconds: [
    "How far this machine's clock is ahead of another, or of the newest that was recorded; only differences of a minute or more.",
    ['clock'],
  ],
  interface_drift: [
    'Fields, values and types that the specification does not name, and required fields that are missing, by kind: field, value, type, missing. `status --drift` lists them.',
    ['account', 'kind'],
  ],
  backup_age_seconds: ['SQLite: age of the last backup, by BACKUP_CRON or by hand; absent when none was made.', []],
  backup_trial_age_seconds: ['SQLite: time since a backup was last restored on trial; absent when none was.', []],
  last_seq: ['The last number of the change log.', []],
  destination_state: ['1 for the state that the destination is in: active, paused, suspended.', ['destination', 'state']],
  destination_rows: [`Rows of the outbox by state: queued, dead, unknown; each counted up to ${COUNT_CAP}.`, ['destination', 'state']],
  destination_oldest_seconds: ['Age of the oldest row that is queued; 0 when there is none.', ['destination']],
  destination_filtered: ['Changes that the filter of the destination has left out.', ['destination']],
  destination_behind: ['Rows of the change log that are not yet queued for the destination.', ['destination']],
  ...alarmGauges,
} as const satisfies Record<string, Definition>

type Name = keyof typeof definitions
type Value = readonly [name: Name, labels: Record<string, string>, value: number]

/**
 * Gauges read from the database on a scrape: by index, never over all submissions, and cached for some seconds. While the database cannot
 * be read, only `store_up` (0) and the alarm `store_unavailable` have values; while it can be read but not written, all do.
 */
export class StoreGauges {
  readonly #db: Db
  readonly #log: Log
  readonly #config: () => Pick<Config, 'accounts'>
  readonly #readiness: Pick<Readiness, 'storeFault'>
  readonly #gauges: Record<Name, Gauge>
  #readAt = Number.NEGATIVE_INFINITY
  #reading: Promise<void> | null = null

  /** @param config the present settings: a reload changes them. */
  constructor(registry: Registry, db: Db, log: Log, config: () => Pick<Config, 'accounts'>, readiness: Pick<Readiness, 'storeFault'>) {
    this.#readiness = readiness
    this.#db = db
    this.#log = log
    this.#config = config
    this.#gauges = mapValues<Name, Definition, Gauge>(definitions, (name, defined) => new Gauge(metric(registry, name, defined)))
  }

  /** Reads the gauges again, unless they are fresh. Never throws. */
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
      ['the change log', async () => [['last_seq', {}, (await changeLogEnds(q)).lastSeq]]],
      ['the inbox', () => this.#inbox(names)],
      ...accounts.map((row) => [`account ${row.account}`, () => this.#account(row)] as const),
      ...names.map((name) => [`completeness of account ${name}`, () => this.#completeness(name)] as const),
      ['API changes', () => this.#interfaceDrift(names)],
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
      values.push(['inbox_oldest_seconds', { state }, Math.max(...gauges.map((gauge) => this.#age(gauge.oldestAt)), 0)])
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

  async #interfaceDrift(accounts: readonly string[]): Promise<Value[]> {
    const drift = await interfaceDriftCounts(this.#db.readNoWait)
    return accounts.flatMap((account) =>
      surpriseKinds.map((kind): Value => {
        const seen = drift.find((one) => one.account === account && one.kind === kind)
        return ['interface_drift', { account, kind }, seen?.count ?? 0]
      }),
    )
  }

  async #completeness(account: string): Promise<Value[]> {
    const q = this.#db.readNoWait
    const { expected, lost } = await webhookLoss(q, account, timeFromMs(this.#db.clock.now() - DAY_MS))
    const proof = await oldestProof(q, account)
    const probed = this.#config().accounts.find(({ name }) => name === account)?.discovery?.paths ?? []
    const values: Value[] = [
      ['webhook_loss_ratio', { account }, expected === 0 ? 0 : lost / expected],
      ['discovery_failing', { account }, await failingProbes(q, account, probed)],
    ]
    if (proof !== null) values.push(['proof_age_seconds', { account }, this.#age(proof)])
    return values
  }

  async #backups(): Promise<Value[]> {
    if (this.#db.kind === 'postgres') return []
    const { madeAt, triedAt } = await lastBackups(this.#db.readNoWait)
    const values: Value[] = []
    if (madeAt !== null) values.push(['backup_age_seconds', {}, this.#age(madeAt)])
    if (triedAt !== null) values.push(['backup_trial_age_seconds', {}, this.#age(triedAt)])
    return values
  }

  async #destinations(): Promise<Value[]> {
    const q = this.#db.readNoWait
    const { lastSeq } = await changeLogEnds(q)
    const values: Value[] = []
    for (const { destination, state, cursor, queued, dead, unknown, filtered } of await countDestinations(q)) {
      for (const each of STATES) values.push(['destination_state', { destination, state: each }, each === state ? 1 : 0])
      for (const [name, rows] of Object.entries({ queued, dead, unknown })) {
        values.push(['destination_rows', { destination, state: name }, rows])
      }
      const oldest = queued === 0 ? null : await oldestQueued(q, destination)
      values.push(['destination_oldest_seconds', { destination }, this.#age(oldest)])
      values.push(['destination_filtered', { destination }, filtered])
      values.push(['destination_behind', { destination }, Math.max(0, lastSeq - cursor)])
    }
    return values
  }

  /** Seconds since `at`; 0 for null and for times in the future. */
  #age(at: TimeText | null): number {
    return at === null ? 0 : Math.max(0, (this.#db.clock.now() - msFromTime(at)) / 1000)
  }
}
