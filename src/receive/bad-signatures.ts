import { addressKey } from './connections/address.ts'

const WINDOW_MS = 60_000
const MAX_PER_WINDOW = 20
const MAX_ADDRESSES = 10_000

/** Counts bad signatures (or tokens) by sender address. Beyond 10,000 addresses the oldest is forgotten. */
export class BadSignatures {
  /** Times of the last 20 failures of each address. Addresses are in the order of their last failure. */
  readonly #times = new Map<string, number[]>()

  /**
   * Notes one bad signature.
   * @param now milliseconds since the epoch.
   * @returns whether the address has now sent more than 20 in the last minute.
   */
  note(address: string, now: number): boolean {
    const key = addressKey(address)
    const times = this.#times.get(key) ?? []
    const limited = isFull(times, now)
    this.#times.delete(key)
    this.#times.set(key, [...times, now].slice(-MAX_PER_WINDOW))
    const [oldest] = this.#times.keys()
    if (this.#times.size > MAX_ADDRESSES && oldest !== undefined) this.#times.delete(oldest)
    return limited
  }

  /** @returns whether one more bad signature from the address would exceed the limit. */
  isLimited(address: string, now: number): boolean {
    return this.#times.size > 0 && isFull(this.#times.get(addressKey(address)) ?? [], now)
  }
}

function isFull(times: readonly number[], now: number): boolean {
  const oldest = times[0]
  return times.length >= MAX_PER_WINDOW && oldest !== undefined && now - oldest < WINDOW_MS
}
