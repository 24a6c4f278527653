import { randomUUID } from 'node:crypto'
import { LeaseLostError, messageOf, TransientError } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import type { Observer } from '../../base/observer.ts'
import type { Service } from '../../base/service.ts'
import { timeFromMs } from '../../model/time.ts'
import type { Db } from '../../store/engine/db.ts'
import { type AlarmPlan, type AlarmRow, claimWatch, type NoticeRow, reportAlarm, storeEvaluation } from '../../store/operators/alarms.ts'
import type { ShowMend } from '../health/mend.ts'
import { withAdvice } from '../health/rules.ts'
import { adviceText, needOf } from '../health/verdict-text.ts'
import { type Condition, keyOf, ofInstallation } from './condition.ts'
import { Outage, type PastOutage } from './outage.ts'
import { type Evaluation, planOf } from './plan.ts'
import type { Senders } from './senders.ts'
import { accountWatcher } from './watch-accounts.ts'
import { backupWatcher } from './watch-backups.ts'
import { clockWatcher } from './watch-clocks.ts'
import { deliveryWatcher } from './watch-deliveries.ts'
import { destinationWatcher } from './watch-destinations.ts'
import { type DiskSpace, diskWatcher } from './watch-disk.ts'
import { documentWatcher } from './watch-documents.ts'
import { inboxWatcher } from './watch-inbox.ts'
import { logWatcher } from './watch-log.ts'
import { reconcileWatcher } from './watch-reconcile.ts'
import type { WatchContext, Watcher } from './watcher.ts'

const EVERY_MS = 10_000
/** When a process dies, another takes over after this time. */
const LEASE_MS = 90_000

export interface AlarmWatchParts extends Pick<WatchContext, 'config' | 'clients' | 'clocks'> {
  readonly db: Db
  readonly log: Log
  readonly observer: Observer
  readonly senders: Senders
  readonly showMend: ShowMend
  /** Reads the free space of a volume; tests replace it. */
  readonly diskSpace?: (folder: string) => Promise<DiskSpace>
}

/**
 * Evaluates all alarms every 10 s, in one process at a time. Stores their states in the table `alarms`, and the messages to
 * operators with them. Reads by index and writes little, however large the mirror is.
 */
export class AlarmWatch implements Service {
  readonly name = 'alarms'
  readonly #p: AlarmWatchParts
  readonly #token = randomUUID()
  readonly #outage: Outage
  readonly #watchers: readonly Watcher[]

  constructor(parts: AlarmWatchParts) {
    this.#p = parts
    this.#outage = new Outage(parts.senders, parts.log)
    const disk = diskWatcher(parts.observer, parts.diskSpace)
    const watchers = [accountWatcher, deliveryWatcher, inboxWatcher, destinationWatcher, logWatcher, reconcileWatcher, clockWatcher]
    this.#watchers = [...watchers, backupWatcher, disk, documentWatcher()]
  }

  async run(signal: AbortSignal): Promise<void> {
    try {
      while (!signal.aborted) {
        await this.evaluate(signal)
        await this.#p.db.clock.sleep(EVERY_MS, signal)
      }
    } finally {
      await this.#p.senders.close()
    }
    // Best effort: the next process need not wait for the lease to end.
    await claimWatch(this.#p.db, this.#token, 0).catch(() => false)
  }

  /** Evaluates all alarms once. @returns what changed; null when another process holds the lease, or the database is down. */
  async evaluate(signal: AbortSignal): Promise<AlarmPlan | null> {
    const { db, log } = this.#p
    try {
      const mine = await claimWatch(db, this.#token, LEASE_MS)
      const plan = mine ? await this.#evaluateAndStore() : await this.#storePastOutage()
      this.#outage.forget()
      return plan
    } catch (error) {
      if (error instanceof LeaseLostError) return null
      if (!(error instanceof TransientError)) throw error
      log.warn({ err: error }, `alarms could not be evaluated, the database failed: ${messageOf(error)}`)
      await this.#outage.note(error, db.clock.now(), signal)
      return null
    }
  }

  async #evaluateAndStore(): Promise<AlarmPlan> {
    const { db, senders } = this.#p
    const evaluation = await this.#gather()
    const past = this.#outage.past()
    let before = new Map<string, AlarmRow>()
    const plan = await storeEvaluation(db, this.#token, (alarms, notices) => {
      before = new Map(alarms.map((row) => [keyOf(row), row]))
      return planWith(past, evaluation, alarms, notices, senders.operators, db.clock.now())
    })
    for (const row of plan.alarms) this.#log(row, before.get(keyOf(row)))
    return plan
  }

  /** Reports an outage that only this process may have seen, such as a broken network between it and the database. */
  async #storePastOutage(): Promise<null> {
    const past = this.#outage.past()
    if (past !== null) await reportAlarm(this.#p.db, past.row, past.sent)
    return null
  }

  async #gather(): Promise<Evaluation> {
    const { db, config, clients, clocks, log } = this.#p
    const context: WatchContext = { q: db.readNoWait, config, clients, clocks, nowMs: db.clock.now() }
    const conditions: Condition[] = [ofInstallation('store_unavailable', 'off', '')]
    const names = new Set<string>(['store_unavailable'])
    for (const watcher of this.#watchers) {
      try {
        conditions.push(...(await watcher.check(context)))
        for (const name of watcher.names) names.add(name)
      } catch (error) {
        // Not taken for an outage of the database: the write that follows shows whether there is one.
        log.error(
          { err: error, alarms: watcher.names },
          `alarms ${watcher.names.join(', ')} could not be evaluated and stay as they are: ${messageOf(error)}`,
        )
      }
    }
    return { conditions: await Promise.all(conditions.map((each) => this.#advised(each))), names }
  }

  async #advised(condition: Condition): Promise<Condition> {
    const { matter } = condition
    if (matter === undefined) return { ...condition, text: withAdvice(condition.name, condition.text) }
    return { ...condition, text: adviceText(matter, await this.#p.showMend(needOf(matter).mend)) }
  }

  #log(row: AlarmRow, before: AlarmRow | undefined): void {
    if (row.state === before?.state || row.state === 'pending') return
    const about = { alarm: row.name, account: row.account || undefined, destination: row.destination || undefined }
    if (row.state === 'resolved') this.#p.log.info(about, `alarm ${row.name} is over: ${row.text}`)
    else this.#p.log[row.severity === 'critical' ? 'error' : 'warn'](about, `alarm ${row.name}: ${row.text}`)
  }
}

/**
 * The plan of an evaluation, with the alarm and the messages of an outage that has just ended. The alarm is stored as firing, for the history;
 * the next evaluation resolves it.
 */
function planWith(
  past: PastOutage | null,
  evaluation: Evaluation,
  alarms: readonly AlarmRow[],
  notices: readonly NoticeRow[],
  operators: Senders['operators'],
  nowMs: number,
): AlarmPlan {
  if (past === null) return planOf(evaluation, alarms, notices, operators, nowMs)
  const key = keyOf(past.row)
  const sent = past.sent.map(
    ({ sent: _, body: __, ...notice }): NoticeRow => ({
      ...notice,
      due_at: notice.queued_at,
      attempts: 1,
      error: null,
      outcome: 'sent',
      settled_at: timeFromMs(nowMs),
    }),
  )
  const plan = planOf(
    {
      conditions: evaluation.conditions.filter((condition) => keyOf(condition) !== key),
      names: new Set([...evaluation.names].filter((name) => name !== past.row.name)),
    },
    [...alarms.filter((row) => keyOf(row) !== key), past.row],
    [...notices.filter((notice) => keyOf(notice) !== key), ...sent],
    operators,
    nowMs,
  )
  return { ...plan, alarms: [...plan.alarms, past.row], notices: [...past.sent, ...plan.notices] }
}
