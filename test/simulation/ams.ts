import type { DeliveryKind, Outcome, PushItem } from '../../src/push/contract/delivery.ts'
import type { Prng } from '../../src/sandbox/world/prng.ts'
import { world as outside, type Scheduler } from './scheduler.ts'
import type { Weather } from './weather.ts'

const LATENCY_MS = 120
const TIMEOUT_MS = 5_000
const DELIVERED: Outcome = { type: 'delivered', status: 200, remoteId: null, detail: null }

export interface AcceptedMessage {
  readonly messageId: string
  readonly seq: number
  readonly lane: string
}

export class Ams {
  readonly taken: AcceptedMessage[] = []
  readonly #scheduler: Scheduler
  readonly #weather: Weather
  readonly #prng: Prng
  /** Whether it can be looked up. If so, nothing may arrive twice, and a request arrives immediately or never. */
  readonly #hasLookup: boolean

  constructor(scheduler: Scheduler, weather: Weather, prng: Prng, hasLookup: boolean) {
    this.#scheduler = scheduler
    this.#weather = weather
    this.#prng = prng
    this.#hasLookup = hasLookup
  }

  kind(): DeliveryKind {
    return {
      batch: { type: 'one' },
      send: (items, signal) => Promise.all(items.map((item) => this.#send(item, signal))),
      ...(this.#hasLookup && { lookUp: (item: PushItem) => this.#lookUp(item) }),
      probe: async () => ({ ok: true, text: 'it is there' }),
      close: async () => undefined,
    }
  }

  #take({ messageId, seq, account, submissionId }: PushItem): void {
    this.taken.push({ messageId, seq, lane: `${account} ${submissionId}` })
  }

  #send(item: PushItem, signal: AbortSignal): Promise<Outcome> {
    const scheduler = this.#scheduler
    const sender = scheduler.current
    const name = `push ${item.seq}`
    return new Promise((resolve) => {
      const noAnswer: Outcome = { type: 'unknown', error: 'no answer' }
      const stop = scheduler.after(TIMEOUT_MS, `${name} timed out`, () => resolve(noAnswer))
      signal.addEventListener('abort', () => {
        stop()
        resolve(noAnswer)
      })
      const answer = (outcome: Outcome) => {
        scheduler.after(
          this.#prng.next() * LATENCY_MS,
          `${name} ${outcome.type}`,
          () => {
            stop()
            resolve(outcome)
          },
          sender,
        )
      }
      if (this.#weather.strikes('pushLost')) return
      const arrive = () => this.#arrive(item, answer)
      if (this.#hasLookup) arrive()
      else scheduler.after(this.#prng.next() * LATENCY_MS, `${name} arrives`, arrive, outside)
    })
  }

  #arrive(item: PushItem, answer: (outcome: Outcome) => void): void {
    if (this.#weather.strikes('pushRefused')) answer(failed(503, null))
    else if (this.#weather.strikes('pushThrottled')) answer(failed(429, this.#prng.int(1, 5) * 1_000))
    else {
      this.#take(item)
      if (!this.#weather.strikes('pushTakenUnanswered')) answer(DELIVERED)
      else if (this.#prng.chance(0.5)) answer({ type: 'unknown', error: 'the connection was cut' })
    }
  }

  async #lookUp({ messageId }: PushItem): Promise<Outcome | null> {
    await this.#scheduler.pause(LATENCY_MS, 'look up')
    if (this.#weather.strikes('pushRefused')) return failed(503, null)
    return this.taken.some((one) => one.messageId === messageId) ? DELIVERED : null
  }
}

function failed(status: number, retryAfterMs: number | null): Outcome {
  return { type: 'failed', permanent: false, alive: true, status, error: `it answered ${status}`, retryAfterMs }
}
