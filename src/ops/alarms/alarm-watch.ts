import { randomUUID } from 'node:crypto'
import { LeaseLostError, messageOf, TransientError } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import type { Observer } from '../../base/observer.ts'
import type { Service } from '../../base/service.ts'
import type { Db } from '../../store/engine/db.ts'
import { type AlarmPlan, type AlarmRow, claimWatch, reportAlarm, storeEvaluation } from '../../store/operators/alarms.ts'
import type { ShowFix } from '../health/fix.ts'
import { adviceText, keyOf, type Problem } from '../health/problem.ts'
import type { AlarmName } from '../health/problems.ts'
import { Outage } from './outage.ts'
import { type Evaluation, planOf } from './plan.ts'
import type { Senders } from './senders.ts'
import { accountWatcher } from './watch-accounts.ts'
import { clockWatcher } from './watch-clocks.ts'
import { deliveryWatcher, inboxWatcher } from './watch-deliveries.ts'
import { destinationWatcher } from './watch-destinations.ts'
import { type DiskSpace, diskWatcher } from './watch-disk.ts'
import { documentWatcher } from './watch-documents.ts'
import { logWatcher } from './watch-log.ts'
import { reconcileWatcher } from './watch-reconcile.ts'
import { backupWatcher, retentionWatcher } from './watch-upkeep.ts'
import type { WatchContext, Watcher } from './watcher.ts'

const EVERY_MS = 10_000
/** Lease of the evaluating process in ms. If the process dies, another process takes over after the lease expires. */
const LEASE_MS = 90_000

export interface AlarmWatchParts extends Pick<WatchContext, 'config' | 'clients' | 'clocks'> {
  readonly db: Db
  readonly log: Log
  readonly observer: Observer
  readonly senders: Senders
  readonly showFix: ShowFix
  /** Measures the free space of the volume that contains `folder`. Tests replace this function. */
  readonly diskSpace?: (folder: string) => Promise<DiskSpace>
}

/**
 * Evaluates all alarms every 10 s, in one process at a time.
 * Stores the states in the table `alarms`, and queues messages for alert recipients.
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
    this.#watchers = [...watchers, retentionWatcher, backupWatcher, disk, documentWatcher()]
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
    // Release the lease now. Otherwise, other processes wait until the lease expires.
    await claimWatch(this.#p.db, this.#token, 0).catch(() => false)
  }

  /**
   * Evaluates all alarms once.
   * @returns the changes; null if another process holds the lease, or if the database is unavailable.
   */
  async evaluate(signal: AbortSignal): Promise<AlarmPlan | null> {
    const { db, log } = this.#p
    try {
      const mine = await claimWatch(db, this.#token, LEASE_MS)
      // Report a past outage even without the lease, because the outage may have affected only this process.
      const past = this.#outage.past()
      if (past !== null) {
        await reportAlarm(db, past.row, past.sent)
        this.#log(past.row, undefined)
      }
      // After an outage, keep `store_unavailable` firing in this evaluation.
      // Otherwise, recipients that could not be notified during the outage would get no message.
      const plan = mine ? await this.#evaluateAndStore(past === null ? ['store_unavailable'] : []) : null
      this.#outage.forget()
      return plan
    } catch (error) {
      if (error instanceof LeaseLostError) return null
      if (!(error instanceof TransientError)) throw error
      log.warn({ err: error }, `alarms could not be evaluated because the database failed: ${messageOf(error)}`)
      await this.#outage.note(error, db.clock.now(), signal)
      return null
    }
  }

  /** Evaluates and stores all alarms. Also resolves the alarms in `over`, which have no watcher. */
  async #evaluateAndStore(over: readonly AlarmName[]): Promise<AlarmPlan> {
    const { db, senders } = this.#p
    const evaluation = await this.#evaluateWatchers(over)
    let before = new Map<string, AlarmRow>()
    const plan = await storeEvaluation(db, this.#token, (alarms, notices) => {
      before = new Map(alarms.map((row) => [keyOf(row), row]))
      return planOf(evaluation, alarms, notices, senders.operators, db.clock.now())
    })
    for (const row of plan.alarms) this.#log(row, before.get(keyOf(row)))
    return plan
  }

  async #evaluateWatchers(over: readonly AlarmName[]): Promise<Evaluation> {
    const { db, config, clients, clocks, log } = this.#p
    const context: WatchContext = { q: db.readNoWait, config, clients, clocks, nowMs: db.clock.now() }
    const problems: Problem[] = []
    const names = new Set<AlarmName>(over)
    for (const watcher of this.#watchers) {
      try {
        problems.push(...(await watcher.check(context)))
        for (const name of watcher.names) names.add(name)
      } catch (error) {
        // Continue with the other watchers. If the database is down, the write after this loop reports the outage.
        log.error(
          { err: error, alarms: watcher.names },
          `alarms ${watcher.names.join(', ')} could not be evaluated and keep their states: ${messageOf(error)}`,
        )
      }
    }
    const advised = problems.map(async (each) => ({ ...each, text: await adviceText(each, this.#p.showFix) }))
    return { problems: await Promise.all(advised), names }
  }

  #log(row: AlarmRow, before: AlarmRow | undefined): void {
    if (row.state === before?.state || row.state === 'pending') return
    const about = { alarm: row.name, account: row.account || undefined, destination: row.destination || undefined }
    if (row.state === 'resolved') this.#p.log.info(about, `alarm ${row.name} resolved: ${row.text}`)
    else this.#p.log[row.severity === 'critical' ? 'error' : 'warn'](about, `alarm ${row.name}: ${row.text}`)
  }
}
