import type { FaultInput } from '../../src/sandbox/service/faults.ts'
import type { Prng } from '../../src/sandbox/world/prng.ts'

/** Highest probability of each fault, per occasion. */
const MOST = {
  requestLost: 0.06,
  requestRefused: 0.06,
  answerLost: 0.05,
  answerCut: 0.05,
  answerSlow: 0.1,
  throttled: 0.06,
  serverError: 0.08,
  html: 0.04,
  forbidden: 0.02,
  notFound: 0.03,
  tokenDiesEarly: 0.2,
  tokenRefused: 0.02,
  invalidCursor: 0.06,
  stuckCursor: 0.05,
  emptyPage: 0.2,
  shortPage: 0.4,
  deliveryLost: 0.25,
  deliveryTwice: 0.2,
  deliveryTwin: 0.15,
  deliveryLate: 0.3,
  deliveryMangled: 0.05,
  acknowledgementLost: 0.15,
  pushRefused: 0.15,
  pushThrottled: 0.05,
  pushLost: 0.1,
  pushTakenUnanswered: 0.12,
} as const

export type FaultName = keyof typeof MOST

/** Each seed omits half of the faults, so that they meet in every combination. */
const SHARE = 0.5

export class Weather {
  readonly struck: Partial<Record<FaultName, number>> = {}
  readonly #prng: Prng
  #strength: Readonly<Record<FaultName, number>>

  constructor(prng: Prng) {
    this.#prng = prng
    const names = Object.keys(MOST) as FaultName[]
    const strengthOf = (name: FaultName) => (prng.chance(SHARE) ? prng.next() * MOST[name] : 0)
    this.#strength = Object.fromEntries(names.map((name) => [name, strengthOf(name)])) as Record<FaultName, number>
  }

  strikes(name: FaultName): boolean {
    const strength = this.#strength[name]
    if (strength === 0 || !this.#prng.chance(strength)) return false
    this.struck[name] = (this.struck[name] ?? 0) + 1
    return true
  }

  clear(): void {
    this.#strength = Object.fromEntries(Object.keys(MOST).map((name) => [name, 0])) as Record<FaultName, number>
  }

  pageFaults(): FaultInput[] {
    const { invalidCursor, stuckCursor, emptyPage, shortPage } = this.#strength
    const faults: FaultInput[] = [
      { kind: 'invalid_cursor', probability: invalidCursor },
      { kind: 'stuck_cursor', probability: stuckCursor },
      { kind: 'empty_page', probability: emptyPage },
      { kind: 'short_page', probability: shortPage },
    ]
    return faults.filter(({ probability }) => probability !== 0)
  }
}
