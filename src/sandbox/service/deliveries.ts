import PQueue from 'p-queue'
import { Webhook } from 'svix'
import { Agent, request } from 'undici'
import { limitedTo } from '../../base/abortable.ts'
import type { Clock } from '../../base/clock.ts'
import type { Prng } from '../world/prng.ts'
import type { Account } from './accounts.ts'
import type { ActivityLog, DeliveryOutcome } from './activity-log.ts'
import { DeliveryHistory, type DeliveryRecord } from './delivery-history.ts'
import type { FaultContext, FaultInjector } from './faults.ts'
import type { Payload } from './payloads.ts'

export interface DeliveriesOptions {
  readonly clock: Clock
  /** Of the signatures: the receiver's clock is neither fast nor stepped, and it refuses timestamps that are minutes off. */
  readonly wallClock: Clock
  readonly accounts: ReadonlyMap<string, Account>
  readonly prng: Prng
  readonly faults: FaultInjector
  readonly activity: ActivityLog
  readonly signatureHeaders: 'svix' | 'webhook'
  readonly retryScheduleMs: readonly number[]
  readonly timeoutMs: number
  /** Called before each attempt, so that nothing is told that a state file does not know yet. */
  readonly persist?: () => Promise<void>
}

/** Deliveries in flight. */
const CONCURRENCY = 16

interface Delivery extends Payload {
  readonly id: string
  readonly account: Account
  readonly submissionId: string
  readonly holdMs: number
}

/** A delivery in its queue. */
interface Queued extends Delivery {
  readonly record: DeliveryRecord
  isLost: boolean
  /** Ends the present wait; null: it does not wait. */
  stopWaiting: (() => void) | null
}

/** What a state file keeps. */
export interface DeliveriesState {
  readonly records: readonly DeliveryRecord[]
  /** Ids of what is not delivered yet, in order, with the queue that each is in. */
  readonly queued: readonly { readonly id: string; readonly queue: string }[]
}

/**
 * Signs and sends deliveries at least once. Within a submission they are sent in order: a failing delivery blocks the later ones of its
 * submission, but no others.
 */
export class Deliveries {
  readonly #options: DeliveriesOptions
  readonly #agent: Agent
  readonly #closing = new AbortController()
  readonly #queues = new Map<string, Queued[]>()
  readonly #history = new DeliveryHistory()
  readonly #slots = new PQueue({ concurrency: CONCURRENCY })
  #pending = 0
  /** Queues that do something other than wait. */
  #busy = 0
  readonly #whenQuiet: (() => void)[] = []
  /** How many of the next deliveries are lost. */
  #loseNext = 0
  #idle: { readonly promise: Promise<void>; readonly resolve: () => void } | null = null

  constructor(options: DeliveriesOptions) {
    this.#options = options
    this.#agent = new Agent({ connections: CONCURRENCY })
  }

  /** Number of deliveries that are neither acknowledged nor given up. */
  get pending(): number {
    return this.#pending
  }

  /**
   * Queues a payload for sending; does nothing when the account has no endpoint. Faults may lose, repeat, delay or reorder it.
   * @param id the delivery's id; default: a new one.
   * @returns the delivery's id.
   */
  send(account: Account, submissionId: string, payload: Payload, id = this.#newId()): string {
    if (account.target === null) return id
    const { faults, activity } = this.#options
    const { deliveries } = activity.counts
    const context: FaultContext = { operation: 'delivery', account: account.name, submissionId }
    const delivery = { ...payload, id, account, submissionId, holdMs: 0 }
    const isLost = this.#loseNext > 0
    if (isLost) this.#loseNext--
    if (isLost || faults.draw(['lose'], context)) {
      deliveries.lost++
      this.#end(delivery, this.#record(delivery), 'lost')
      return id
    }
    const reorder = faults.draw(['reorder'], context)
    const delay = reorder ? null : faults.draw(['delay'], context)
    if (reorder) deliveries.reordered++
    if (delay) deliveries.delayed++
    this.#enqueue({ ...delivery, holdMs: reorder?.ms ?? delay?.ms ?? 0 }, reorder ? `aside ${id}` : submissionId)
    if (faults.draw(['duplicate'], context)) {
      deliveries.duplicated++
      this.#enqueue(delivery, submissionId)
    }
    if (faults.draw(['twin'], context)) {
      deliveries.twinned++
      const twinId = this.#newId()
      this.#enqueue({ ...delivery, id: twinId }, `twin ${submissionId}`)
    }
    return id
  }

  /** The latest deliveries, oldest first, and those that are pending. */
  list(): readonly DeliveryRecord[] {
    return this.#history.list()
  }

  /** The next delivery is lost. */
  loseNext(): void {
    this.#loseNext++
  }

  /** Drops a pending delivery, as if it had been lost. @throws RangeError for one that has ended, or an unknown one. */
  lose(id: string): void {
    const record = this.#history.get(id)
    const queued = [...this.#queues.values()].flat().filter((other) => other.id === id)
    if (queued.length === 0) throw new RangeError(`delivery ${id} is ${record.outcome} already`)
    for (const delivery of queued) {
      delivery.isLost = true
      delivery.stopWaiting?.()
    }
  }

  /** Sends a delivery that has ended once more, under its id. @throws RangeError for a pending one, or an unknown one. */
  resend(id: string): void {
    const record = this.#history.get(id)
    if (record.outcome === 'pending') throw new RangeError(`delivery ${id} is still pending`)
    this.#requeue(record, record.submissionId)
  }

  /** Resolves when no attempt is in flight: all that is pending waits on the clock. */
  async settled(): Promise<void> {
    // What the clock woke runs first.
    await new Promise((resolve) => setImmediate(resolve))
    if (this.#busy === 0) return
    await new Promise<void>((resolve) => this.#whenQuiet.push(resolve))
    await this.settled()
  }

  toState(): DeliveriesState {
    const queued = [...this.#queues].flatMap(([key, queue]) =>
      queue.map(({ id, account }) => ({ id, queue: key.slice(account.name.length + 1) })),
    )
    return { records: this.#history.list(), queued }
  }

  /** Takes up what was pending. A delivery that was in flight when the state was written is sent again. */
  fromState(state: DeliveriesState): void {
    this.#history.restore(state.records)
    for (const { id, queue } of state.queued) this.#requeue(this.#history.get(id), queue)
  }

  /** Resolves when nothing is pending. */
  idle(): Promise<void> {
    if (this.#pending === 0) return Promise.resolve()
    this.#idle ??= Promise.withResolvers<void>()
    return this.#idle.promise
  }

  /** Stops sending and drops pending deliveries. */
  async close(): Promise<void> {
    this.#closing.abort()
    await this.idle()
    await this.#agent.destroy()
  }

  #newId(): string {
    return `msg_${this.#options.prng.uuid().replaceAll('-', '')}`
  }

  #requeue(record: DeliveryRecord, queue: string): void {
    const account = this.#options.accounts.get(record.account)
    if (!account) throw new RangeError(`no account ${record.account}`)
    const { id, submissionId, type, body, itemIds } = record
    this.#enqueue({ id, account, submissionId, type, body, itemIds, holdMs: 0 }, queue)
  }

  #record(delivery: Delivery): DeliveryRecord {
    return this.#history.begin(delivery, delivery.account.name, this.#options.clock.now())
  }

  #enqueue(given: Delivery, name: string): void {
    const delivery = { ...given, record: this.#record(given), isLost: false, stopWaiting: null }
    this.#options.activity.counts.deliveries.queued++
    this.#pending++
    const key = `${delivery.account.name} ${name}`
    const queue = this.#queues.get(key)
    if (queue) {
      queue.push(delivery)
      return
    }
    const newQueue = [delivery]
    this.#queues.set(key, newQueue)
    void this.#drain(key, newQueue)
  }

  async #drain(key: string, queue: Queued[]): Promise<void> {
    this.#busy++
    for (let delivery = queue[0]; delivery; delivery = queue[0]) {
      await this.#deliver(delivery)
      queue.shift()
      this.#pending--
    }
    this.#queues.delete(key)
    this.#rest()
    if (this.#pending > 0) return
    this.#idle?.resolve()
    this.#idle = null
  }

  async #deliver(delivery: Queued): Promise<void> {
    const { retryScheduleMs, activity } = this.#options
    const { signal } = this.#closing
    const { deliveries } = activity.counts
    if (delivery.holdMs > 0) await this.#wait(delivery, delivery.holdMs)
    for (let attempt = 0; !signal.aborted && !delivery.isLost; attempt++) {
      if (await this.#slots.add(() => this.#attempt(delivery))) {
        deliveries.acknowledged++
        this.#end(delivery, delivery.record, 'acknowledged')
        return
      }
      const waitMs = retryScheduleMs[attempt]
      if (waitMs === undefined) break
      await this.#wait(delivery, waitMs)
    }
    if (signal.aborted) return
    deliveries[delivery.isLost ? 'lost' : 'givenUp']++
    this.#end(delivery, delivery.record, delivery.isLost ? 'lost' : 'given_up')
  }

  async #wait(delivery: Queued, ms: number): Promise<void> {
    if (delivery.isLost) return
    const stop = new AbortController()
    delivery.stopWaiting = () => stop.abort()
    this.#rest()
    await this.#options.clock.sleep(ms, AbortSignal.any([this.#closing.signal, stop.signal]))
    this.#busy++
    delivery.stopWaiting = null
  }

  #rest(): void {
    this.#busy--
    if (this.#busy > 0) return
    for (const resolve of this.#whenQuiet.splice(0)) resolve()
  }

  /** @returns whether the receiver answered with a 2xx in time. */
  async #attempt(delivery: Queued): Promise<boolean> {
    const { wallClock, faults, activity, signatureHeaders: prefix, timeoutMs } = this.#options
    // Read for each attempt, because a test may change the endpoint in between.
    const { target } = delivery.account
    if (target === null) return false
    await this.#options.persist?.()
    activity.counts.deliveries.tries++
    delivery.record.attempts++
    delivery.record.lastStatus = null
    const skew = faults.draw(['clock_skew'], { operation: 'delivery', account: delivery.account.name, submissionId: delivery.submissionId })
    const signedAt = new Date(wallClock.now() + (skew?.ms ?? 0))
    try {
      const answer = await request(target, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          [`${prefix}-id`]: delivery.id,
          [`${prefix}-timestamp`]: String(Math.floor(signedAt.getTime() / 1000)),
          [`${prefix}-signature`]: new Webhook(delivery.account.webhookSecret).sign(delivery.id, signedAt, delivery.body),
        },
        body: delivery.body,
        dispatcher: this.#agent,
        signal: limitedTo(timeoutMs, this.#closing.signal),
      })
      await answer.body.dump()
      delivery.record.lastStatus = answer.statusCode
      return answer.statusCode >= 200 && answer.statusCode < 300
    } catch {
      // Refused, cut off, too slow, or the sandbox closes: not acknowledged.
      return false
    }
  }

  #end(delivery: Delivery, record: DeliveryRecord, outcome: DeliveryOutcome): void {
    this.#history.end(record, outcome, this.#options.clock.now())
    const { id, account, submissionId, type, itemIds } = delivery
    this.#options.activity.notice({ kind: 'delivery', outcome, account: account.name, submissionId, deliveryId: id, type, itemIds })
  }
}
