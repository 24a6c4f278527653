import cron from 'node-cron'
import { messageOf } from '../../base/errors.ts'
import type { Service } from '../../base/service.ts'
import { WakeUp } from '../../base/wakeup.ts'
import type { DatabaseConfig, ServiceParts } from '../../store/engine/db.ts'
import { claimWaitingRun, endAbandonedRuns, ensureReconcileRows } from '../../store/reconcile/claims.ts'
import { requestSlot } from '../../store/reconcile/slots.ts'
import type { UpstreamClient } from '../../upstream/client.ts'
import { type RunContext, workRun } from './run.ts'
import { type CronSchedule, lastSlot } from './schedule.ts'

const POLL_MS = 5_000

export interface ReconcilerOptions extends ServiceParts {
  readonly database: DatabaseConfig | null
  /** Clients by account. Only these accounts are reconciled. */
  readonly clients: ReadonlyMap<string, UpstreamClient>
  readonly recordFields: RunContext['recordFields']
  readonly concurrency: number
  readonly budgetMs: number
  readonly destinations: readonly string[]
  /** Null: no scheduled runs. */
  readonly schedule: CronSchedule | null
}

/**
 * Carries out scheduled and requested reconcile runs, and resumes runs of processes that ended. Each run is claimed by
 * one process. Each account has one run at a time. Runs of different accounts are concurrent.
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
    const { db, clients, schedule } = this.#o
    await ensureReconcileRows(db, [...clients.keys()])
    await endAbandonedRuns(db, [...clients.keys()])
    const onDue = () => this.#wakeUp.notify()
    const task = schedule && cron.schedule(schedule.cron, onDue, { timezone: schedule.timeZone, suppressMissedWarning: true })
    const stopped = new AbortController()
    const work = AbortSignal.any([signal, stopped.signal])
    try {
      while (!signal.aborted) {
        await this.startDueRuns(work)
        await this.#wakeUp.wait(POLL_MS, signal)
      }
    } finally {
      stopped.abort()
      await task?.destroy()
      await Promise.allSettled(this.#running.values())
    }
  }

  /** Stores the runs that are due by the schedule, and starts waiting runs. */
  async startDueRuns(signal: AbortSignal): Promise<void> {
    await this.#requestDueRuns()
    for (const [account, client] of this.#o.clients) if (!this.#running.has(account)) await this.#start(account, client, signal)
  }

  /** Waits until no run is active. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running.values())
  }

  async #requestDueRuns(): Promise<void> {
    const { db, clock, log, clients, schedule } = this.#o
    if (schedule === null) return
    const slot = lastSlot(schedule, clock.now())
    for (const account of clients.keys()) {
      const outcome = await requestSlot(db, account, slot)
      if (outcome === 'skipped')
        log.warn({ account, slot }, `skipped the reconcile run of account ${account} due at ${slot}: another one is still in progress`)
      if (outcome === 'again') log.info({ account, slot }, `repeating the failed reconcile run of account ${account} due at ${slot}`)
    }
  }

  async #start(account: string, client: UpstreamClient, signal: AbortSignal): Promise<void> {
    const { db, log, budgetMs } = this.#o
    const claim = await claimWaitingRun(db, account)
    if (claim === null) return
    const { run, resumed } = claim
    log.info(
      { account, run: run.run_id, by: run.requested_by, resumed },
      `reconcile run of account ${account} ${resumed ? 'resumed' : 'started'}`,
    )
    const work = workRun({ ...this.#o, client, budgetMs, onAbort: 'release' }, claim, signal).then(
      () => true,
      (error: unknown) => {
        // The run keeps its progress. It isn't resumed immediately, because the error may recur.
        if (!signal.aborted)
          log.error(
            { account, run: run.run_id, err: error },
            `reconcile run of account ${account} interrupted (${messageOf(error)}); it will be resumed`,
          )
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
