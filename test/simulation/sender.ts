import { Webhook } from 'svix'
import { eventsPayloads } from '../../src/sandbox/service/options.ts'
import { eventPayloads, messagePayload, type Payload } from '../../src/sandbox/service/payloads.ts'
import type { Unshown } from '../../src/sandbox/service/unshown.ts'
import type { Prng } from '../../src/sandbox/world/prng.ts'
import type { News } from '../../src/sandbox/world/world.ts'
import { world as outside, type Scheduler } from './scheduler.ts'
import type { Weather } from './weather.ts'

export const WEBHOOK_SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const LATENCY_MS = 100
const LATE_MS = 60_000
const RETRY_MS = 5_000
const ATTEMPTS = 12

export interface SignedDelivery {
  readonly id: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

/** Passes a request to the product. `answer` gets the status; never called without an answer. */
export type Receive = (delivery: SignedDelivery, answer: (status: number) => void) => void

/** The service's webhook sender: usually at least once. */
export class WebhookSender {
  /** Ids answered with 204 by the product, received or not. */
  readonly acknowledged = new Set<string>()
  readonly items = new Map<string, readonly string[]>()
  pending = 0
  readonly #scheduler: Scheduler
  readonly #weather: Weather
  readonly #prng: Prng
  readonly #receive: Receive
  readonly #onAcknowledged: (id: string) => void
  readonly #unshown: Unshown

  constructor(parts: {
    scheduler: Scheduler
    weather: Weather
    prng: Prng
    unshown: Unshown
    receive: Receive
    onAcknowledged: (id: string) => void
  }) {
    this.#scheduler = parts.scheduler
    this.#weather = parts.weather
    this.#prng = parts.prng
    this.#receive = parts.receive
    this.#onAcknowledged = parts.onAcknowledged
    this.#unshown = parts.unshown
  }

  announce(news: News): void {
    const layout = this.#prng.pick(eventsPayloads)
    const payloads =
      news.kind === 'events'
        ? eventPayloads(layout, news.submissionId, news.events, this.#unshown)
        : [messagePayload(news.submissionId, news.message, this.#unshown)]
    for (const payload of payloads) this.#send(payload, layout)
  }

  #send(payload: Payload, layout: string): void {
    const body = this.#weather.strikes('deliveryMangled') ? this.#mangled(payload.body) : payload.body
    const id = this.#newId()
    const isWhole = body === payload.body && (payload.type === 'submission.message' || !['ids-only', 'opaque'].includes(layout))
    if (isWhole) this.items.set(id, payload.itemIds)
    if (this.#weather.strikes('deliveryLost')) return
    this.#start(id, body)
    if (this.#weather.strikes('deliveryTwice')) this.#start(id, body)
    if (this.#weather.strikes('deliveryTwin')) this.#start(this.#newId(), body)
  }

  #newId(): string {
    return `msg_${this.#prng.uuid().replaceAll('-', '')}`
  }

  /** A cut body, or one of an unknown kind. */
  #mangled(body: string): string {
    return this.#prng.chance(0.5)
      ? body.slice(0, this.#prng.int(1, body.length - 1))
      : body.replace(/"type":"[^"]*"/, '"type":"submission.other"')
  }

  #start(id: string, body: string): void {
    this.pending += 1
    const waitMs = this.#prng.next() * (this.#weather.strikes('deliveryLate') ? LATE_MS : LATENCY_MS)
    this.#scheduler.after(waitMs, `delivery ${id}`, () => this.#attempt(id, body, 1), outside)
  }

  #attempt(id: string, body: string, attempt: number): void {
    let isOver = false
    const again = () => {
      isOver = true
      if (attempt >= ATTEMPTS) this.pending -= 1
      else this.#scheduler.after(RETRY_MS * (0.5 + this.#prng.next()), `repeat ${id}`, () => this.#attempt(id, body, attempt + 1), outside)
    }
    const stop = this.#scheduler.after(10_000, `unanswered ${id}`, again, outside)
    const signedAt = new Date(this.#scheduler.trueMs)
    const headers = {
      'content-type': 'application/json',
      'svix-id': id,
      'svix-timestamp': String(Math.floor(signedAt.getTime() / 1000)),
      'svix-signature': new Webhook(WEBHOOK_SECRET).sign(id, signedAt, body),
    }
    this.#receive({ id, headers, body: Buffer.from(body) }, (status) => {
      if (status === 204) {
        this.acknowledged.add(id)
        this.#onAcknowledged(id)
      }
      if (this.#weather.strikes('acknowledgementLost')) return
      const heard = () => {
        if (isOver) return
        isOver = true
        stop()
        if (status === 204) this.pending -= 1
        else again()
      }
      this.#scheduler.after(this.#prng.next() * LATENCY_MS, `answered ${status} ${id}`, heard, outside)
    })
  }
}
