import { once } from 'node:events'
import PQueue from 'p-queue'
import { inApplyTransaction } from '../apply/apply.ts'
import { backoffMs, type Clock } from '../base/clock.ts'
import { FatalError, messageOf, TransientError } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import type { Observer } from '../base/observer.ts'
import type { Service } from '../base/service.ts'
import { msFromTime, timeFromMs } from '../model/time.ts'
import type { Db, Tx } from '../store/engine/db.ts'
import { LeaseLostError } from '../store/engine/leases.ts'
import {
  type ClaimedDelivery,
  claimDeliveries,
  releaseAllDeliveries,
  releaseDeliveries,
  type Settlement,
  settleDeliveries,
} from '../store/inbox/work.ts'
import { noteUnreadableEvents, requestSweep } from '../store/reads/accounts.ts'
import { type ReadDelivery, readDeliveries } from './read-facts.ts'

/** Deliveries claimed and applied together: as many as keep a transaction on SQLite under its 20 ms. */
const BATCH = { sqlite: 100, postgres: 250 } as const
/** Batches under way at a time. SQLite has one writer. */
const CONCURRENCY = { sqlite: 1, postgres: 2 } as const
const LEASE_MS = 60_000
/** Between two tries to give a batch back to a store that is away. */
const RETURN_MS = { base: 400, cap: 5_000 } as const
/** Without a signal the inbox is looked at this often. */
const SWEEP_MS = 1_000
/** Tries before a delivery that cannot be applied is `dead`; with the backoff below that takes 43 minutes at most. */
const MAX_ATTEMPTS = 10
const RETRY_BASE_MS = 5_000
const RETRY_CAP_MS = 3_600_000

export interface WorkerOptions {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  readonly observer: Observer
  /** Milliseconds to rest after a batch that took `workedMs`: the receiver may share its thread with us. */
  readonly restMs: (workedMs: number) => number
}

/**
 * inbox -> read -> apply -> settle. Claims are leases; a batch is applied and settled in one transaction; when that fails, its
 * deliveries are tried one by one, so that a poisoned one is set back alone and never blocks the others (trap 30).
 */
export class Worker implements Service {
  readonly name = 'worker'
  readonly #o: WorkerOptions
  readonly #queue: PQueue
  readonly #returning = new Set<Promise<void>>()

  constructor(options: WorkerOptions) {
    this.#o = options
    this.#queue = new PQueue({ concurrency: CONCURRENCY[options.db.kind] })
  }

  async run(signal: AbortSignal): Promise<void> {
    const { db, clock } = this.#o
    let failure: unknown
    try {
      // Only one process works on SQLite (invariant 13), and it has nothing in hand yet: what is claimed was left by one that was killed.
      if (db.kind === 'sqlite') await releaseAllDeliveries(db)
      while (!signal.aborted && failure === undefined) {
        const startedAt = performance.now()
        const leaseEndsAt = clock.now() + LEASE_MS
        const batch = await claimDeliveries(db, BATCH[db.kind], LEASE_MS)
        if (batch.length === 0) {
          await db.signals.wait('inbox', SWEEP_MS, signal)
          continue
        }
        void this.#queue
          .add(() => this.#work(batch))
          .catch((error: unknown) => {
            failure = error
            this.#return(batch, leaseEndsAt, signal)
          })
        await this.#waitForSlot()
        const restMs = this.#o.restMs(performance.now() - startedAt)
        if (restMs > 0) await clock.sleep(restMs, signal)
      }
    } finally {
      await this.#queue.onIdle()
    }
    if (failure !== undefined && !signal.aborted) throw failure
    await Promise.all(this.#returning)
    if (failure !== undefined) throw failure
  }

  /** What is claimed and waits for a place only ages, so nothing is claimed before there is one. */
  async #waitForSlot(): Promise<void> {
    while (this.#queue.pending >= this.#queue.concurrency) await once(this.#queue, 'next')
  }

  /** Applies a batch, or sets back what of it cannot be. Whoever took it over meanwhile does that instead. @throws what is the store's fault. */
  async #work(batch: readonly ClaimedDelivery[]): Promise<void> {
    try {
      await this.#applyOrSetBack(batch)
    } catch (error) {
      if (!(error instanceof LeaseLostError)) throw error
      this.#o.log.warn({ deliveries: batch.length }, messageOf(error))
    }
  }

  async #applyOrSetBack(batch: readonly ClaimedDelivery[]): Promise<void> {
    try {
      await this.#apply(batch)
    } catch (error) {
      // The lease was lost, or the store is away or damaged: nothing is wrong with the deliveries.
      if (error instanceof LeaseLostError || error instanceof TransientError || error instanceof FatalError) throw error
      if (batch.length === 1 && batch[0]) await this.#reschedule(batch[0], error)
      else for (const delivery of batch) await this.#work([delivery])
    }
  }

  /**
   * Gives a batch back that the store went away under, as soon as it is there again, while the supervisor starts the worker anew: else it
   * would wait for the end of its lease. Whatever of it is settled already stays so.
   */
  #return(batch: readonly ClaimedDelivery[], leaseEndsAt: number, signal: AbortSignal): void {
    const returning = this.#release(batch, leaseEndsAt, signal).finally(() => this.#returning.delete(returning))
    this.#returning.add(returning)
  }

  /** Never rejects: when it cannot be done, the lease ends by itself. */
  async #release(batch: readonly ClaimedDelivery[], leaseEndsAt: number, signal: AbortSignal): Promise<void> {
    const { db, clock, log } = this.#o
    for (let attempt = 0; ; attempt++) {
      try {
        await releaseDeliveries(db, batch)
        db.signals.notify('inbox')
        return
      } catch (error) {
        if (signal.aborted || clock.now() >= leaseEndsAt || !(error instanceof TransientError)) {
          log.warn(
            { deliveries: batch.length },
            `deliveries wait for the end of their lease, they could not be given back: ${messageOf(error)}`,
          )
          return
        }
      }
      await clock.sleep(backoffMs(clock, attempt, RETURN_MS.base, RETURN_MS.cap), signal)
    }
  }

  async #apply(batch: readonly ClaimedDelivery[]): Promise<void> {
    const { db, observer } = this.#o
    const read = await readDeliveries(db, batch)
    const settlements = read.map((item) => item.settlement)
    await inApplyTransaction(db, observer, 'inbox-apply', async (transaction) => {
      await transaction.apply(read.flatMap((item) => item.facts))
      await this.#noteGaps(transaction.tx, read)
      await settleDeliveries(transaction.tx, settlements)
    })
    this.#report(settlements)
  }

  /** Notes, by account, what the deliveries told of and did not show. */
  async #noteGaps(tx: Tx, read: readonly ReadDelivery[]): Promise<void> {
    const accounts = (items: readonly ReadDelivery[]) => [...new Set(items.map((item) => item.settlement.delivery.account))].sort()
    for (const account of accounts(read.filter((item) => item.unreadableEvents))) {
      await noteUnreadableEvents(tx, account, timeFromMs(this.#o.clock.now()))
    }
    for (const account of accounts(read.filter((item) => item.sweep))) await requestSweep(tx, account)
  }

  /** Sets a delivery that cannot be applied back for a later try, or gives it up: it stays visible and can be replayed. */
  async #reschedule(delivery: ClaimedDelivery, error: unknown): Promise<void> {
    const dead = delivery.attempts + 1 >= MAX_ATTEMPTS
    const retryInMs = backoffMs(this.#o.clock, delivery.attempts, RETRY_BASE_MS, RETRY_CAP_MS)
    const settlement: Settlement = {
      delivery,
      state: dead ? 'dead' : 'ready',
      submissionId: null,
      kind: null,
      error: messageOf(error).slice(0, 1_000),
      ...(dead ? {} : { retryInMs }),
    }
    await this.#o.db.write('inbox-set-back', (tx) => settleDeliveries(tx, [settlement]))
    this.#report([settlement])
    this.#o.log.error(
      { account: delivery.account, delivery: delivery.deliveryId, attempts: delivery.attempts + 1, err: error },
      dead
        ? `delivery ${delivery.deliveryId} could not be applied and is dead; see \`submission-mirror inbox show ${delivery.deliveryId}\`, then \`inbox replay\``
        : `delivery ${delivery.deliveryId} could not be applied and will be tried again`,
    )
  }

  #report(settlements: readonly Settlement[]): void {
    const { clock, observer, log } = this.#o
    for (const { delivery, state, error, kind, submissionId } of settlements) {
      observer.count('deliveries_settled_total', { account: delivery.account, state: state === 'ready' ? 'retry' : state })
      if (state === 'done') observer.time('delivery_to_mirror_seconds', (clock.now() - msFromTime(delivery.receivedAt)) / 1000)
      if (state === 'aside') {
        log.warn(
          { account: delivery.account, delivery: delivery.deliveryId, kind },
          `delivery ${delivery.deliveryId} was set aside: ${error}`,
        )
      } else {
        log.debug({ account: delivery.account, delivery: delivery.deliveryId, kind, submission: submissionId, state }, 'delivery worked')
      }
    }
  }
}
