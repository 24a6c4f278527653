import cron from 'node-cron'
import type { Clock } from '../../base/clock.ts'
import { messageOf } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import type { Observer } from '../../base/observer.ts'
import type { Service } from '../../base/service.ts'
import { WakeUp } from '../../base/wakeup.ts'
import type { DatabaseConfig, Db } from '../../store/engine/db.ts'
import { claimWaitingRun, endAbandonedRuns, ensureReconcileRows } from '../../store/reconcile/claims.ts'
import { requestSlot } from '../../store/reconcile/slots.ts'
import type { UpstreamClient } from '../../upstream/client.ts'
import { workRun } from './run.ts'
import { lastSlot, type Timetable } from './timetable.ts'

/** Runs that somebody asked for, or that a dead process left, are looked for so often; the timetable too, in case its bell was missed. */
const LOOK_MS = 5_000

export interface ReconcilerOptions {
  readonly db: Db
  readonly database: DatabaseConfig
  readonly clock: Clock
  readonly log: Log
  readonly observer: Observer
  /** The client of each account that is to be reconciled. */
  readonly clients: ReadonlyMap<string, UpstreamClient>
  readonly concurrency: number
  readonly budgetMs: number
  /** Names of the destinations of the settings. */
  readonly destinations: readonly string[]
  /** null: nothing is reconciled by itself. */
  readonly timetable: Timetable | null
}

/**
 * Works on the reconcile runs that are stored: those of the timetable, which it stores itself, those that somebody asked for, and those
 * whose process died. Of several processes one takes each run; an account has one run at a time, several accounts go side by side.
 */
export class Reconciler implements Service {
  readonly name = 'reconcile'
  readonly #o: ReconcilerOptions
  readonly #running = new Map<string, Promise<void>>()
  readonly #wakeUp: WakeUp

  constructor(options: ReconcilerOptions) {
    this.#o = options
    this.#wakeUp = new WakeUp(options.clock)
  }

  async run(signal: AbortSignal): Promise<void> {
    const { db, clients, timetable } = this.#o
    await ensureReconcileRows(db, [...clients.keys()])
    await endAbandonedRuns(db, [...clients.keys()])
    const due = () => this.#wakeUp.notify()
    const task = timetable && cron.schedule(timetable.cron, due, { timezone: timetable.timeZone, suppressMissedWarning: true })
    const over = new AbortController()
    const work = AbortSignal.any([signal, over.signal])
    try {
      while (!signal.aborted) {
        await this.look(work)
        await this.#wakeUp.wait(LOOK_MS, signal)
      }
    } finally {
      over.abort()
      await task?.destroy()
      await Promise.allSettled(this.#running.values())
    }
  }

  /** Stores the run of the timetable that has come due, and begins what waits. */
  async look(signal: AbortSignal): Promise<void> {
    await this.#keepTimetable()
    for (const [account, client] of this.#o.clients) if (!this.#running.has(account)) await this.#begin(account, client, signal)
  }

  /** Waits for the runs that are in hand. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running.values())
  }

  async #keepTimetable(): Promise<void> {
    const { db, clock, log, clients, timetable } = this.#o
    if (timetable === null) return
    const slot = lastSlot(timetable, clock.now())
    for (const account of clients.keys()) {
      const outcome = await requestSlot(db, account, slot)
      if (outcome === 'skipped') log.warn({ account, slot }, 'a reconcile run was due while another was still in progress; it is left out')
      if (outcome === 'again') log.info({ account, slot }, 'a reconcile run that failed is made again')
    }
  }

  async #begin(account: string, client: UpstreamClient, signal: AbortSignal): Promise<void> {
    const { db, log, budgetMs } = this.#o
    const claim = await claimWaitingRun(db, account)
    if (claim === null) return
    const { run, resumed } = claim
    log.info({ account, run: run.run_id, by: run.requested_by, resumed }, resumed ? 'a reconcile run goes on' : 'a reconcile run begins')
    const work = workRun({ ...this.#o, client, budgetMs, onAbort: 'release' }, claim, signal).then(
      () => true,
      (error: unknown) => {
        // Whatever it was, the run stands where it stood and is taken up again, after a while: it may come to the same.
        if (!signal.aborted) log.error({ account, run: run.run_id, err: error }, `a reconcile run was interrupted: ${messageOf(error)}`)
        return false
      },
    )
    this.#running.set(
      account,
      work.then((ended) => {
        this.#running.delete(account)
        if (ended) this.#wakeUp.notify()
      }),
    )
  }
}
