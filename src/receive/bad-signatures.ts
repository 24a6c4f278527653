import { isIPv6 } from 'node:net'

const WINDOW_MS = 60_000
const MAX_PER_WINDOW = 20
const MAX_ADDRESSES = 10_000
/** Behind a trusted proxy the address is whatever text the proxy sent. */
const MAX_ADDRESS_LENGTH = 64

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
    const key = keyOf(address)
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
    return this.#times.size > 0 && isFull(this.#times.get(keyOf(address)) ?? [], now)
  }
}

function isFull(times: readonly number[], now: number): boolean {
  const oldest = times[0]
  return times.length >= MAX_PER_WINDOW && oldest !== undefined && now - oldest < WINDOW_MS
}

/** IPv6 addresses count by their first 64 bits, which is what one customer gets. IPv4 addresses mapped to IPv6 count as IPv4. */
function keyOf(address: string): string {
  const text = address.slice(0, MAX_ADDRESS_LENGTH)
  if (!isIPv6(text)) return text
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(text)
  if (mapped?.[1] !== undefined) return mapped[1]
  const [head = [], tail = []] = text.split('::').map((part) => part.split(':').filter((group) => group !== ''))
  const zeros = Array.from({ length: Math.max(0, 8 - head.length - tail.length) }, () => '0')
  return [...head, ...zeros, ...tail]
    .slice(0, 4)
    .map((group) => group.toLowerCase().replace(/^0+(?=.)/, ''))
    .join(':')
}
