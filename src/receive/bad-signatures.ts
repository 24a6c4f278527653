import { addressKey } from '../base/client-address.ts'

const WINDOW_MS = 60_000
const MAX_ADDRESSES = 10_000

/** Counts bad signatures (or tokens) by sender address, for the latest 10,000 addresses. */
export class BadSignatures {
  readonly #most: number
  /** Recent failure times of each address; addresses are ordered by last failure. */
  readonly #times = new Map<string, number[]>()

  /** @param most limit per address and minute. */
  constructor(most = 20) {
    this.#most = most
  }

  /** Counts one bad signature. @param now milliseconds since the epoch. @returns whether the address exceeds its limit per minute. */
  note(address: string, now: number): boolean {
    const key = addressKey(address)
    const times = this.#times.get(key) ?? []
    const limited = this.#isFull(times, now)
    this.#times.delete(key)
    this.#times.set(key, [...times, now].slice(-this.#most))
    const [oldest] = this.#times.keys()
    if (this.#times.size > MAX_ADDRESSES && oldest !== undefined) this.#times.delete(oldest)
    return limited
  }

  /** @returns whether one more bad signature from the address would exceed the limit. */
  isLimited(address: string, now: number): boolean {
    return this.#times.size > 0 && this.#isFull(this.#times.get(addressKey(address)) ?? [], now)
  }

  #isFull(times: readonly number[], now: number): boolean {
    const oldest = times[0]
    return times.length >= this.#most && oldest !== undefined && now - oldest < WINDOW_MS
  }
}
