import { isIPv6 } from 'node:net'

const WINDOW_MS = 60_000
/** More than so many in a window are too many. */
const MAX_IN_WINDOW = 20
const MAX_ADDRESSES = 10_000
/** Behind a proxy that is trusted an address is whatever the proxy wrote. */
const MAX_ADDRESS_LENGTH = 64

/** Counts bad signatures by the address they came from. The oldest addresses are forgotten when there are too many. */
export class BadSignatures {
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
    times.push(now)
    if (times.length > MAX_IN_WINDOW) times.shift()
    // Taken out and put back: a Map keeps the order in which keys were put in.
    this.#times.delete(key)
    this.#times.set(key, times)
    if (this.#times.size > MAX_ADDRESSES) this.#forgetOldest()
    return limited
  }

  /** @returns whether one more bad signature from the address would be too many. */
  isLimited(address: string, now: number): boolean {
    if (this.#times.size === 0) return false
    return isFull(this.#times.get(keyOf(address)) ?? [], now)
  }

  #forgetOldest(): void {
    for (const oldest of this.#times.keys()) {
      this.#times.delete(oldest)
      return
    }
  }
}

/** The last 20 times are all that must be known. */
function isFull(times: readonly number[], now: number): boolean {
  const oldest = times[0]
  return times.length >= MAX_IN_WINDOW && oldest !== undefined && now - oldest < WINDOW_MS
}

/** One customer has a whole /64 of IPv6 addresses, so that is what counts as one. */
function keyOf(address: string): string {
  const known = address.slice(0, MAX_ADDRESS_LENGTH)
  if (!isIPv6(known)) return known
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(known)
  if (mapped?.[1] !== undefined) return mapped[1]
  const [head = '', tail] = known.split('::')
  const groups = head.split(':').filter((group) => group !== '')
  if (tail !== undefined) {
    const after = tail.split(':').filter((group) => group !== '').length
    while (groups.length + after < 8) groups.push('0')
    groups.push(...tail.split(':'))
  }
  return groups
    .slice(0, 4)
    .map((group) => group.toLowerCase().replace(/^0+(?=.)/, ''))
    .join(':')
}
