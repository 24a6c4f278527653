import type { Clock } from '../base/clock.ts'
import type { IdRead } from '../model/reads.ts'
import type { PollPolicy } from './intervals.ts'

const DAY_MS = 86_400_000
/**
 * A recently changed bind request is read every `quietMs` × this factor. Bind requests have no events, so only a read
 * finds a change (trap 80).
 */
const POLLS_PER_BIND = 4
/** The wait for a bind request grows to this share of the time since its last change, up to `maxMs`. */
const QUIET_SHARE = 1 / 4
/**
 * Statuses of bind requests that count as final. `bind_failed` isn't final, because the service reviews such requests.
 * Even a final status may change, so final bind requests are still read, but rarely (trap 60).
 */
const FINAL_STATUSES: ReadonlySet<unknown> = new Set(['bound', 'cancelled', 'declined', 'expired'])

export function isFinalStatus(status: unknown): boolean {
  return FINAL_STATUSES.has(status)
}

/**
 * @param quietForMs time since the last change.
 * @returns the longest wait between two reads by id, in milliseconds:
 * - policies and insureds: one day
 * - final bind requests: `dormantMs`
 * - other bind requests: at first 4 × `quietMs` (one hour by default), then less often
 */
export function longestIdWaitMs({ poll }: PollPolicy, read: IdRead, isFinal: boolean, quietForMs: number): number {
  if (read !== 'bind_request') return DAY_MS
  if (isFinal) return poll.dormantMs
  const shortest = poll.quietMs * POLLS_PER_BIND
  return Math.min(poll.dormantMs, Math.max(shortest, Math.min(poll.maxMs, quietForMs * QUIET_SHARE)))
}

/** @returns milliseconds to the next read, shortened by up to 10% at random. */
export function idWaitMs(policy: PollPolicy, read: IdRead, isFinal: boolean, quietForMs: number, clock: Pick<Clock, 'random'>): number {
  return Math.round(longestIdWaitMs(policy, read, isFinal, quietForMs) * (1 - 0.1 * clock.random()))
}
