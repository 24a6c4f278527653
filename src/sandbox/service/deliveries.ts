import PQueue from 'p-queue'
import { Webhook } from 'svix'
import { Agent, request } from 'undici'
import type { Clock } from '../../base/clock.ts'
import type { Prng } from '../world/prng.ts'
import type { Account } from './accounts.ts'
import type { ActivityLog, DeliveryOutcome } from './activity-log.ts'
import type { FaultContext, FaultInjector } from './faults.ts'
import type { Payload } from './payloads.ts'

export interface DeliveriesOptions {
  readonly clock: Clock
  readonly prng: Prng
  readonly faults: FaultInjector
  readonly activity: ActivityLog
  readonly signatureHeaders: 'svix' | 'webhook'
  readonly retryScheduleMs: readonly number[]
  readonly timeoutMs: number
}

/** Deliveries in flight. */
const CONCURRENCY = 16

interface Delivery extends Payload {
  readonly id: string
  readonly account: Account
  readonly submissionId: string
  readonly holdMs: number
}

/**
 * Signs and sends deliveries at least once. Within a submission they are sent in order: a failing delivery blocks the later ones of its
 * submission, but no others.
 */
export class Deliveries {
  readonly #options: DeliveriesOptions
  readonly #agent: Agent
  readonly #closing = new AbortController()
  readonly #lanes = new Map<string, Delivery[]>()
  readonly #slots = new PQueue({ concurrency: CONCURRENCY })
  #pending = 0
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
    if (faults.draw(['lose'], context)) {
      deliveries.lost++
      this.#note(delivery, 'lost')
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

  #enqueue(delivery: Delivery, lane: string): void {
    this.#options.activity.counts.deliveries.queued++
    this.#pending++
    const key = `${delivery.account.name} ${lane}`
    const queue = this.#lanes.get(key)
    if (queue) {
      queue.push(delivery)
      return
    }
    const newQueue = [delivery]
    this.#lanes.set(key, newQueue)
    void this.#drain(key, newQueue)
  }

  async #drain(key: string, queue: Delivery[]): Promise<void> {
    for (let delivery = queue[0]; delivery; delivery = queue[0]) {
      await this.#deliver(delivery)
      queue.shift()
      this.#pending--
    }
    this.#lanes.delete(key)
    if (this.#pending > 0) return
    this.#idle?.resolve()
    this.#idle = null
  }

  async #deliver(delivery: Delivery): Promise<void> {
    const { clock, retryScheduleMs, activity } = this.#options
    const { signal } = this.#closing
    if (delivery.holdMs > 0) await clock.sleep(delivery.holdMs, signal)
    for (let attempt = 0; !signal.aborted; attempt++) {
      if (await this.#slots.add(() => this.#attempt(delivery))) {
        activity.counts.deliveries.acknowledged++
        this.#note(delivery, 'acknowledged')
        return
      }
      const waitMs = retryScheduleMs[attempt]
      if (waitMs === undefined) break
      await clock.sleep(waitMs, signal)
    }
    if (signal.aborted) return
    activity.counts.deliveries.givenUp++
    this.#note(delivery, 'given_up')
  }

  /** @returns whether the receiver answered with a 2xx in time. */
  async #attempt(delivery: Delivery): Promise<boolean> {
    const { clock, faults, activity, signatureHeaders: prefix, timeoutMs } = this.#options
    // Read for each attempt, because a test may change the endpoint in between.
    const { target } = delivery.account
    if (target === null) return false
    activity.counts.deliveries.tries++
    const skew = faults.draw(['clock_skew'], { operation: 'delivery', account: delivery.account.name, submissionId: delivery.submissionId })
    const signedAt = new Date(clock.now() + (skew?.ms ?? 0))
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
        signal: AbortSignal.any([this.#closing.signal, AbortSignal.timeout(timeoutMs)]),
      })
      await answer.body.dump()
      return answer.statusCode >= 200 && answer.statusCode < 300
    } catch {
      // Refused, cut off, too slow, or the sandbox closes: not acknowledged.
      return false
    }
  }

  #note(delivery: Delivery, outcome: DeliveryOutcome): void {
    const { id, account, submissionId, type, itemIds } = delivery
    this.#options.activity.notice({ kind: 'delivery', outcome, account: account.name, submissionId, deliveryId: id, type, itemIds })
  }
}
