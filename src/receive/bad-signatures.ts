import { addressKey } from '../base/client-address.ts'

const WINDOW_MS = 60_000
const MAX_ADDRESSES = 10_000

/** Counts bad signatures (or tokens) by sender address. Beyond 10,000 addresses the oldest is forgotten. */
export class BadSignatures {
  readonly #most: number
  /** Times of the last failures of each address. Addresses are in the order of their last failure. */
  readonly #times = new Map<string, number[]>()

  /** @param most that an address may send in a minute. */
  constructor(most = 20) {
    this.#most = most
  }

  /**
   * Notes one bad signature.
   * @param now milliseconds since the epoch.
   * @returns whether the address has now sent more than it may in the last minute.
   */
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
