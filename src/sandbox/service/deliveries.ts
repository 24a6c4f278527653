import { Webhook } from 'svix'
import { Agent, request } from 'undici'
import type { Clock } from '../../base/clock.ts'
import type { Prng } from '../world/prng.ts'
import type { Account } from './accounts.ts'
import type { FaultBook, Occasion } from './faults.ts'
import type { DeliveryOutcome, Logbook } from './logbook.ts'
import type { Payload } from './payloads.ts'

export interface DeliveriesOptions {
  readonly clock: Clock
  readonly prng: Prng
  readonly faults: FaultBook
  readonly logbook: Logbook
  readonly signatureHeaders: 'svix' | 'webhook'
  readonly retryScheduleMs: readonly number[]
  readonly timeoutMs: number
}

/** So many deliveries are under way at the same time. */
const CONCURRENCY = 16

interface Delivery extends Payload {
  readonly id: string
  readonly account: Account
  readonly submissionId: string
  readonly holdMs: number
}

/**
 * Signs and sends deliveries: at least once, in order within a submission (a delivery that fails holds back the later
 * ones of its submission and no others), a bounded number at a time.
 */
export class Deliveries {
  readonly #options: DeliveriesOptions
  readonly #agent: Agent
  readonly #closing = new AbortController()
  readonly #lanes = new Map<string, Delivery[]>()
  readonly #waitingForSlot: (() => void)[] = []
  #freeSlots = CONCURRENCY
  #pending = 0
  #idle: { readonly promise: Promise<void>; readonly resolve: () => void } | null = null

  constructor(options: DeliveriesOptions) {
    this.#options = options
    this.#agent = new Agent({ connections: CONCURRENCY })
  }

  /** Deliveries that are neither acknowledged nor given up. */
  get pending(): number {
    return this.#pending
  }

  /**
   * Hands a payload over to be sent, unless the account has no endpoint.
   * @param id the delivery's id; a new one when left out.
   * @returns its id.
   */
  send(account: Account, submissionId: string, payload: Payload, id = this.#newId()): string {
    if (account.target === null) return id
    const { faults, logbook } = this.#options
    const { deliveries } = logbook.counts
    const occasion: Occasion = { operation: 'delivery', account: account.name, submissionId }
    const delivery = { ...payload, id, account, submissionId, holdMs: 0 }
    if (faults.draw(['lose'], occasion)) {
      deliveries.lost++
      this.#note(delivery, 'lost')
      return id
    }
    const reorder = faults.draw(['reorder'], occasion)
    const delay = reorder ? null : faults.draw(['delay'], occasion)
    if (reorder) deliveries.reordered++
    if (delay) deliveries.delayed++
    this.#enqueue({ ...delivery, holdMs: reorder?.ms ?? delay?.ms ?? 0 }, reorder ? `aside ${id}` : submissionId)
    if (faults.draw(['duplicate'], occasion)) {
      deliveries.duplicated++
      this.#enqueue(delivery, submissionId)
    }
    if (faults.draw(['twin'], occasion)) {
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

  /** Stops sending; what is pending is dropped. */
  async close(): Promise<void> {
    this.#closing.abort()
    for (const wake of this.#waitingForSlot.splice(0)) wake()
    await this.idle()
    await this.#agent.destroy()
  }

  #newId(): string {
    return `msg_${this.#options.prng.uuid().replaceAll('-', '')}`
  }

  #enqueue(delivery: Delivery, lane: string): void {
    this.#options.logbook.counts.deliveries.queued++
    this.#pending++
    const key = `${delivery.account.name} ${lane}`
    const queue = this.#lanes.get(key)
    if (queue) {
      queue.push(delivery)
      return
    }
    const fresh = [delivery]
    this.#lanes.set(key, fresh)
    void this.#drain(key, fresh)
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
    const { clock, retryScheduleMs, logbook } = this.#options
    const { signal } = this.#closing
    if (delivery.holdMs > 0) await clock.sleep(delivery.holdMs, signal)
    for (let attempt = 0; !signal.aborted; attempt++) {
      if (await this.#withSlot(() => this.#try(delivery))) {
        logbook.counts.deliveries.acknowledged++
        this.#note(delivery, 'acknowledged')
        return
      }
      const waitMs = retryScheduleMs[attempt]
      if (waitMs === undefined) break
      await clock.sleep(waitMs, signal)
    }
    if (signal.aborted) return
    logbook.counts.deliveries.givenUp++
    this.#note(delivery, 'given_up')
  }

  async #withSlot<T>(work: () => Promise<T>): Promise<T> {
    if (this.#freeSlots > 0) this.#freeSlots--
    else await new Promise<void>((resolve) => this.#waitingForSlot.push(resolve))
    try {
      return await work()
    } finally {
      const next = this.#waitingForSlot.shift()
      if (next) next()
      else this.#freeSlots++
    }
  }

  /** @returns whether the receiver acknowledged, with a 2xx of whatever kind in time. */
  async #try(delivery: Delivery): Promise<boolean> {
    const { clock, faults, logbook, signatureHeaders: prefix, timeoutMs } = this.#options
    // Read anew at each try: an endpoint that moved is found at its new address.
    const { target } = delivery.account
    if (target === null) return false
    logbook.counts.deliveries.tries++
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
      // Refused, cut, too slow or closing: not acknowledged, whatever the reason.
      return false
    }
  }

  #note(delivery: Delivery, outcome: DeliveryOutcome): void {
    const { id, account, submissionId, type, itemIds } = delivery
    this.#options.logbook.notice({ kind: 'delivery', outcome, account: account.name, submissionId, deliveryId: id, type, itemIds })
  }
}
