/** How long a banned address gets no connection. */
const BANNED_MS = 10_000
/** How long an address counts as known after a good signature. */
const KNOWN_MS = 3_600_000
/** Maximum connections without a complete request header that one address may open within `WINDOW_MS`. */
const MAX_WASTED = 500
const WINDOW_MS = 10_000
const MAX_ADDRESSES = 10_000

/**
 * Remembers up to 10,000 known addresses, 10,000 banned addresses, and 10,000 addresses that waste connections. Times
 * are in ms of the steady clock.
 */
export class Reputation {
  readonly #knownUntil = new Map<string, number>()
  readonly #bannedUntil = new Map<string, number>()
  readonly #wasted = new Map<string, { since: number; count: number }>()

  /** Records that a delivery with a good signature came from the address. */
  trust(address: string, now: number): void {
    put(this.#knownUntil, address, now + KNOWN_MS)
  }

  /** Whether a delivery with a good signature came from the address within the last hour. */
  isKnown(address: string, now: number): boolean {
    return (this.#knownUntil.get(address) ?? Number.NEGATIVE_INFINITY) > now
  }

  /** Bans an address for 10 s. A known sender's address is never banned, because strangers may share it. */
  ban(address: string, now: number): void {
    if (!this.isKnown(address, now)) put(this.#bannedUntil, address, now + BANNED_MS)
  }

  isBanned(address: string, now: number): boolean {
    return (this.#bannedUntil.get(address) ?? Number.NEGATIVE_INFINITY) > now && !this.isKnown(address, now)
  }

  /**
   * Counts a connection that ended without a complete request header.
   * @returns true if the address has more than 500 such connections within 10 s.
   */
  waste(address: string, now: number): boolean {
    const window = this.#wasted.get(address)
    if (window === undefined || now - window.since >= WINDOW_MS) {
      put(this.#wasted, address, { since: now, count: 1 })
      return false
    }
    window.count += 1
    return window.count > MAX_WASTED
  }
}

function put<V>(map: Map<string, V>, address: string, value: V): void {
  map.delete(address)
  map.set(address, value)
  const [oldest] = map.keys()
  if (map.size > MAX_ADDRESSES && oldest !== undefined) map.delete(oldest)
}
