import { once } from 'node:events'
import PQueue from 'p-queue'
import { inApplyTransaction } from '../apply/apply.ts'
import { backoffMs } from '../base/clock.ts'
import { FatalError, LeaseLostError, messageOf, TransientError } from '../base/errors.ts'
import type { Service } from '../base/service.ts'
import type { ApiChangeWatch } from '../model/api-changes.ts'
import { msFromTime, timeFromMs } from '../model/time.ts'
import type { ServiceParts, Tx } from '../store/engine/db.ts'
import { type ClaimedDelivery, claimDeliveries, releaseLeftDeliveries, type Settlement, settleDeliveries } from '../store/inbox/work.ts'
import { forgetUnreadableEvents, noteUnreadableEvents, requestSweep } from '../store/reads/accounts.ts'
import { type ReadDelivery, readDeliveries } from './read-observations.ts'

/** Deliveries per batch. 100 deliveries keep a SQLite transaction under 20 ms. */
const BATCH = { sqlite: 100, postgres: 250 } as const
/** Batches processed at the same time. SQLite allows one writer. */
const CONCURRENCY = { sqlite: 1, postgres: 2 } as const
const LEASE_MS = 60_000
/** How often the inbox is checked if no signal arrives, in ms. */
const POLL_MS = 1_000
/** Attempts before a delivery is dead-lettered. The retries take at most 43 minutes. */
const MAX_ATTEMPTS = 10
const RETRY_BASE_MS = 5_000
const RETRY_CAP_MS = 3_600_000

export interface WorkerOptions extends ServiceParts {
  /** Receives the JSON of each settled delivery, to detect API changes. */
  readonly apiChanges?: ApiChangeWatch | undefined
  /**
   * Called after each batch. A pause gives a receiver on the same thread time to answer.
   * @param processedMs duration of the last batch, in ms.
   * @returns how long the worker pauses now, in ms.
   */
  readonly restMs: (processedMs: number) => number
}

/**
 * Applies deliveries from the inbox. The worker claims a batch under a lease, then applies and settles the batch in one
 * transaction. If a delivery makes the transaction fail, each delivery of the batch is applied separately. The other
 * deliveries then succeed (trap 30).
 */
export class Worker implements Service {
  readonly name = 'worker'
  readonly #o: WorkerOptions
  readonly #queue: PQueue

  constructor(options: WorkerOptions) {
    this.#o = options
    this.#queue = new PQueue({ concurrency: CONCURRENCY[options.db.kind] })
  }

  async run(signal: AbortSignal): Promise<void> {
    const { db, clock } = this.#o
    await releaseLeftDeliveries(db)
    let failure: unknown
    try {
      while (!signal.aborted && failure === undefined) {
        const startedAt = performance.now()
        const batch = await claimDeliveries(db, BATCH[db.kind], LEASE_MS)
        if (batch.length === 0) {
          await db.signals.wait('inbox', POLL_MS, signal)
          continue
        }
        void this.#queue
          .add(() => this.#work(batch))
          .catch((error: unknown) => {
            failure = error
          })
        await this.#waitForSlot()
        const restMs = this.#o.restMs(performance.now() - startedAt)
        if (restMs > 0) await clock.sleep(restMs, signal)
      }
    } finally {
      await this.#queue.onIdle()
    }
    if (failure !== undefined) throw failure
  }

  /**
   * Waits until another batch can start. If the worker claimed the next batch before that, the batch would use up its
   * lease while waiting.
   */
  async #waitForSlot(): Promise<void> {
    while (this.#queue.pending >= this.#queue.concurrency) await once(this.#queue, 'next')
  }

  /**
   * Applies a batch and reschedules failed deliveries. If the lease was lost, only logs a warning.
   * @throws database errors.
   */
  async #work(batch: readonly ClaimedDelivery[]): Promise<void> {
    try {
      await this.#applyOrReschedule(batch)
    } catch (error) {
      if (!(error instanceof LeaseLostError)) throw error
      this.#o.log.warn({ deliveries: batch.length }, messageOf(error))
    }
  }

  async #applyOrReschedule(batch: readonly ClaimedDelivery[]): Promise<void> {
    try {
      await this.#apply(batch)
    } catch (error) {
      // A lost lease or a database failure isn't the fault of a delivery. No delivery is then rescheduled, and
      // no attempt counts.
      if (error instanceof LeaseLostError || error instanceof TransientError || error instanceof FatalError) throw error
      const [delivery] = batch
      if (batch.length === 1 && delivery) await this.#reschedule(delivery, error)
      else for (const one of batch) await this.#work([one])
    }
  }

  async #apply(batch: readonly ClaimedDelivery[]): Promise<void> {
    const { db, clock, observer, apiChanges } = this.#o
    const startMs = clock.now()
    const read = await readDeliveries(db, batch)
    const settlements = read.map((item) => item.settlement)
    await inApplyTransaction(db, observer, 'inbox-apply', async (transaction) => {
      const { purged } = await transaction.apply(read.flatMap((item) => item.observations))
      await this.#recordGaps(transaction.tx, read)
      const isOfPurged = ({ observations }: ReadDelivery) =>
        observations.some((observation) => purged.has(`${observation.account} ${observation.submissionId}`))
      const settlements = read.map((item) => (isOfPurged(item) ? { ...item.settlement, isEmptied: true } : item.settlement))
      await settleDeliveries(transaction.tx, settlements)
    })
    for (const { delivery, state } of settlements) {
      const attributes = { state, deliveries: batch.length }
      observer.trace?.({ name: 'apply', of: delivery, startMs, endMs: clock.now(), failed: false, attributes })
    }
    for (const { json, settlement } of read) apiChanges?.look(settlement.delivery.account, 'delivery', json)
    this.#report(settlements)
  }

  /**
   * Records for each account whether its `submission.events` deliveries were readable. If a delivery names no
   * submission, requests a read of all active submissions of its account.
   */
  async #recordGaps(tx: Tx, read: readonly ReadDelivery[]): Promise<void> {
    const accounts = (items: readonly ReadDelivery[]) => [...new Set(items.map((item) => item.settlement.delivery.account))].sort()
    const unreadable = accounts(read.filter(({ events }) => events === 'unreadable'))
    const readable = accounts(read.filter(({ events }) => events === 'readable')).filter((account) => !unreadable.includes(account))
    for (const account of unreadable) await noteUnreadableEvents(tx, account, timeFromMs(this.#o.clock.now()))
    if (readable.length > 0) await forgetUnreadableEvents(tx, readable)
    for (const account of accounts(read.filter((item) => item.sweep))) await requestSweep(tx, account)
  }

  /**
   * Schedules another attempt for a failed delivery. After the last attempt, the delivery is dead-lettered. An operator
   * can replay it.
   */
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
    await this.#o.db.write('inbox-reschedule', (tx) => settleDeliveries(tx, [settlement]))
    this.#report([settlement])
    this.#o.log.error(
      { account: delivery.account, delivery: delivery.deliveryId, attempts: delivery.attempts + 1, err: error },
      dead
        ? `delivery ${delivery.deliveryId} failed ${MAX_ATTEMPTS} times and is dead-lettered; run \`submission-mirror inbox show ${delivery.deliveryId}\`, then \`inbox replay\``
        : `delivery ${delivery.deliveryId} could not be applied; next attempt in ${Math.round(retryInMs / 1000)} s: ${messageOf(error)}`,
    )
  }

  #report(settlements: readonly Settlement[]): void {
    const { clock, observer, log } = this.#o
    for (const { delivery, state, error, kind, submissionId } of settlements) {
      observer.count('deliveries_settled_total', { account: delivery.account, state: state === 'ready' ? 'retry' : state })
      if (state === 'done' && delivery.settledAt === null)
        observer.time('delivery_to_mirror_seconds', (clock.now() - msFromTime(delivery.receivedAt)) / 1000)
      if (state === 'aside') {
        log.warn(
          { account: delivery.account, delivery: delivery.deliveryId, kind },
          `delivery ${delivery.deliveryId} was set aside: ${error}`,
        )
      } else {
        log.debug(
          { account: delivery.account, delivery: delivery.deliveryId, kind, submission: submissionId, state },
          `delivery ${delivery.deliveryId} is settled: ${state}`,
        )
      }
    }
  }
}
