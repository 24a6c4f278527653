import { addressKey } from '../base/client-address.ts'

const WINDOW_MS = 60_000
const MAX_ADDRESSES = 10_000

/**
 * Counts bad signatures or tokens for each sender address. Keeps counts of the 10,000 addresses
 * that failed most recently.
 */
export class BadSignatures {
  readonly #most: number
  /** Times of recent failures by address, in ms since the epoch. The address of the newest failure is at the end. */
  readonly #times = new Map<string, number[]>()

  /** @param most bad signatures allowed per address and minute. */
  constructor(most = 20) {
    this.#most = most
  }

  /**
   * Counts one bad signature.
   * @param now milliseconds since the epoch.
   * @returns true if this bad signature exceeds the number that the address may send within a minute.
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

  /** @returns true if the address has sent the allowed number of bad signatures within the last minute. */
  isLimited(address: string, now: number): boolean {
    return this.#times.size > 0 && this.#isFull(this.#times.get(addressKey(address)) ?? [], now)
  }

  #isFull(times: readonly number[], now: number): boolean {
    const oldest = times[0]
    return times.length >= this.#most && oldest !== undefined && now - oldest < WINDOW_MS
  }
}
