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

interface DeliveriesOptions {
  readonly clock: Clock
  /** Clock for signatures, because receivers compare timestamps with the real time. */
  readonly wallClock: Clock
  readonly accounts: ReadonlyMap<string, Account>
  readonly prng: Prng
  readonly faults: FaultInjector
  readonly activity: ActivityLog
  readonly signatureHeaders: 'svix' | 'webhook'
  readonly retryScheduleMs: readonly number[]
  readonly timeoutMs: number
  /** Saves the state file. Called before each attempt. */
  readonly persist?: () => Promise<void>
}

const CONCURRENCY = 16

interface Delivery extends Payload {
  readonly id: string
  readonly account: Account
  readonly submissionId: string
  readonly holdMs: number
}

interface Queued extends Delivery {
  readonly record: DeliveryRecord
  isLost: boolean
  /** Ends the current wait; null if the delivery isn't waiting. */
  stopWaiting: (() => void) | null
}

interface DeliveriesState {
  readonly records: readonly DeliveryRecord[]
  /** Ids of undelivered deliveries in order, each with the name of its queue. */
  readonly queued: readonly { readonly id: string; readonly queue: string }[]
}

/**
 * Signs deliveries and sends them. Retries a delivery until the receiver accepts it or the retry schedule ends. A
 * failing delivery blocks only later deliveries of the same submission.
 */
export class Deliveries {
  readonly #options: DeliveriesOptions
  readonly #agent: Agent
  readonly #closing = new AbortController()
  readonly #queues = new Map<string, Queued[]>()
  readonly #history = new DeliveryHistory()
  readonly #slots = new PQueue({ concurrency: CONCURRENCY })
  #pending = 0
  /** Number of queues that aren't waiting for the clock. */
  #busy = 0
  readonly #whenQuiet: (() => void)[] = []
  /** How many of the next deliveries to lose. */
  #loseNext = 0
  #idle: { readonly promise: Promise<void>; readonly resolve: () => void } | null = null

  constructor(options: DeliveriesOptions) {
    this.#options = options
    this.#agent = new Agent({ connections: CONCURRENCY })
  }

  /** Number of deliveries that have no outcome yet. */
  get pending(): number {
    return this.#pending
  }

  /**
   * Queues a payload. Does nothing if the account has no endpoint. Faults may lose, repeat, delay,
   * or reorder the delivery.
   * @param id id of the delivery. Default: a new id.
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

  /** @returns pending and recent deliveries, oldest first. */
  list(): readonly DeliveryRecord[] {
    return this.#history.list()
  }

  loseNext(): void {
    this.#loseNext++
  }

  /**
   * Loses a pending delivery.
   * @throws RangeError if the delivery has ended or is unknown.
   */
  lose(id: string): void {
    const record = this.#history.get(id)
    const queued = [...this.#queues.values()].flat().filter((other) => other.id === id)
    if (queued.length === 0) throw new RangeError(`delivery ${id} is ${record.outcome} already`)
    for (const delivery of queued) {
      delivery.isLost = true
      delivery.stopWaiting?.()
    }
  }

  /**
   * Sends an ended delivery again, with the same id.
   * @throws RangeError if the delivery is pending or unknown.
   */
  resend(id: string): void {
    const record = this.#history.get(id)
    if (record.outcome === 'pending') throw new RangeError(`delivery ${id} is still pending`)
    this.#requeue(record, record.submissionId)
  }

  /** Resolves when every pending delivery waits for the clock. */
  async settled(): Promise<void> {
    // Waits one turn of the event loop, so that tasks that the clock woke run first.
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

  /** Restores deliveries and sends the pending ones. A delivery that was in flight is sent again. */
  fromState(state: DeliveriesState): void {
    this.#history.restore(state.records)
    for (const { id, queue } of state.queued) this.#requeue(this.#history.get(id), queue)
  }

  /** Resolves when no delivery is pending. */
  idle(): Promise<void> {
    if (this.#pending === 0) return Promise.resolve()
    this.#idle ??= Promise.withResolvers<void>()
    return this.#idle.promise
  }

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

  async #attempt(delivery: Queued): Promise<boolean> {
    const { wallClock, faults, activity, signatureHeaders: prefix, timeoutMs } = this.#options
    // Reads the endpoint for each attempt, because tests may change it between attempts.
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
      // The receiver refused the connection, disconnected, or was too slow. Or the sandbox is closing.
      return false
    }
  }

  #end(delivery: Delivery, record: DeliveryRecord, outcome: DeliveryOutcome): void {
    this.#history.end(record, outcome, this.#options.clock.now())
    const { id, account, submissionId, type, itemIds } = delivery
    this.#options.activity.notice({ kind: 'delivery', outcome, account: account.name, submissionId, deliveryId: id, type, itemIds })
  }
}
