import type { Clock } from '../base/clock.ts'
import type { IdRead } from '../model/reads.ts'
import type { PollPolicy } from './intervals.ts'

const DAY_MS = 86_400_000
/** A recently changed bind request is read at every 4th poll of a quiet submission, because bind requests have no events (trap 80). */
const POLLS_PER_BIND = 4
/** Later, the wait grows to this share of the time since the last change, up to `maxMs`. */
const QUIET_SHARE = 1 / 4
/**
 * Final statuses, without `bind_failed`, which the service reviews. Any status may still change, so final bind requests are read, but
 * rarely (trap 60).
 */
const FINAL_STATUSES: ReadonlySet<unknown> = new Set(['bound', 'cancelled', 'declined', 'expired'])

export function isFinalStatus(status: unknown): boolean {
  return FINAL_STATUSES.has(status)
}

/**
 * @param quietForMs time since the last change.
 * @returns the longest wait between two reads by id, in milliseconds: policies and insureds daily, bind requests hourly at first, then less
 * often, final bind requests at `dormantMs`.
 */
export function longestIdWaitMs({ poll }: PollPolicy, read: IdRead, isFinal: boolean, quietForMs: number): number {
  if (read !== 'bind_request') return DAY_MS
  if (isFinal) return poll.dormantMs
  const shortest = poll.quietMs * POLLS_PER_BIND
  return Math.min(poll.dormantMs, Math.max(shortest, Math.min(poll.maxMs, quietForMs * QUIET_SHARE)))
}

/** @returns milliseconds to the next read, with up to 10% jitter. */
export function idWaitMs(policy: PollPolicy, read: IdRead, isFinal: boolean, quietForMs: number, clock: Pick<Clock, 'random'>): number {
  return Math.round(longestIdWaitMs(policy, read, isFinal, quietForMs) * (1 - 0.1 * clock.random()))
}
