import { addressKey } from '../../base/client-address.ts'

/** A body takes one unit for each part of this size, in addition to the unit of its row. */
const UNIT_BYTES = 32 << 10
const MINUTE_MS = 60_000
/** Units that one sender may store in a minute: 60 small deliveries, or one with a body of 1 MiB and some small ones. */
const SENDER_PER_MINUTE = 60
/** Units that all senders share in a minute. */
const ALL_PER_MINUTE = 600
const MAX_SENDERS = 10_000
/** Groups of 16 bits that a site has in common. One host can use all 65,536 IPv6 networks of a site. */
const SITE_GROUPS = 3

/** A stored or waiting rejected delivery, as the limits see it. */
export interface Kept {
  readonly address: string
  /** null when the body was not read. */
  readonly bodyBytes: number | null
}

export function unitsOf({ bodyBytes }: Kept): number {
  return 1 + Math.floor((bodyBytes ?? 0) / UNIT_BYTES)
}

/**
 * Finds the deliveries to remove until the rest fits: each time the oldest delivery of the sender with the most units.
 * @param kept oldest first.
 */
export function toRemove<K extends Kept>(kept: readonly K[], maxUnits: number): K[] {
  let total = kept.reduce((sum, each) => sum + unitsOf(each), 0)
  if (total <= maxUnits) return []
  const senders = Map.groupBy(kept, ({ address }) => addressKey(address, SITE_GROUPS))
  const units = new Map([...senders].map(([sender, own]) => [sender, own.reduce((sum, each) => sum + unitsOf(each), 0)]))
  const removed: K[] = []
  while (total > maxUnits) {
    const [heaviest] = [...units].reduce((most, each) => (each[1] > most[1] ? each : most))
    const oldest = senders.get(heaviest)?.shift()
    if (oldest === undefined) break
    removed.push(oldest)
    total -= unitsOf(oldest)
    units.set(heaviest, (units.get(heaviest) ?? 0) - unitsOf(oldest))
  }
  return removed
}

/**
 * Limits what is stored in a minute. The senders of the minute share its units equally, so a sender over its limit takes nothing from the
 * others. Each sender may store at least one small delivery.
 */
export class MinuteShares {
  #beganAt = Number.NEGATIVE_INFINITY
  #units = new Map<string, number>()

  /** Takes the units of a delivery from its sender's share. @returns false, and takes nothing, when too few are left. */
  take(rejected: Kept, now: number): boolean {
    if (now - this.#beganAt >= MINUTE_MS || now < this.#beganAt) {
      this.#beganAt = now
      this.#units = new Map()
    }
    const sender = addressKey(rejected.address, SITE_GROUPS)
    const used = this.#units.get(sender) ?? 0
    if (used === 0 && this.#units.size >= MAX_SENDERS) return false
    const senders = this.#units.size + (used === 0 ? 1 : 0)
    const share = Math.max(1, Math.min(SENDER_PER_MINUTE, Math.floor(ALL_PER_MINUTE / senders)))
    if (used + unitsOf(rejected) > share) return false
    this.#units.set(sender, used + unitsOf(rejected))
    return true
  }
}
