import { addressKey } from '../base/client-address.ts'

const WINDOW_MS = 60_000
const MAX_ADDRESSES = 10_000

/** Counts bad signatures or tokens for each sender address. Keeps the 10,000 addresses that failed last. */
export class BadSignatures {
  readonly #most: number
  /** Times of recent failures for each address, in ms since the epoch. The address that failed last is at the end. */
  readonly #times = new Map<string, number[]>()

  /** @param most bad signatures allowed per address and minute. */
  constructor(most = 20) {
    this.#most = most
  }

  /**
   * Counts one bad signature.
   * @param now milliseconds since the epoch.
   * @returns true if the address already had the allowed number within the last minute.
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

  /** @returns true if the address had the allowed number of bad signatures within the last minute. */
  isLimited(address: string, now: number): boolean {
    return this.#times.size > 0 && this.#isFull(this.#times.get(addressKey(address)) ?? [], now)
  }

  #isFull(times: readonly number[], now: number): boolean {
    const oldest = times[0]
    return times.length >= this.#most && oldest !== undefined && now - oldest < WINDOW_MS
  }
}
