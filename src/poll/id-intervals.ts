import type { Clock } from '../base/clock.ts'
import type { IdRead } from '../model/reads.ts'
import type { PollPolicy } from './intervals.ts'

const DAY_MS = 86_400_000
/** A bind request that just moved is read once in so many of the polls of a quiet submission: it has no events of its own (trap 80). */
const POLLS_PER_BIND = 4
/** Then the wait grows to this share of the time since it last moved, up to `maxMs`: one that was left undone costs no more than a feed. */
const QUIET_SHARE = 1 / 4
/**
 * Statuses after which nothing is expected of a bind request. `bind_failed` is none: the service reviews it. All moves are legal, so it is still
 * read, slowly (trap 60).
 */
const FINAL_STATUSES: ReadonlySet<unknown> = new Set(['bound', 'cancelled', 'declined', 'expired'])

export function isFinalStatus(status: unknown): boolean {
  return FINAL_STATUSES.has(status)
}

/**
 * @param quietForMs time since the answer last changed.
 * @returns the longest wait between two reads by id, in milliseconds: a policy and an insured daily, a bind request hourly at first, then less
 * often, one with a final status at `dormantMs`.
 */
export function longestIdWaitMs({ poll }: PollPolicy, read: IdRead, isFinal: boolean, quietForMs: number): number {
  if (read !== 'bind_request') return DAY_MS
  if (isFinal) return poll.dormantMs
  const shortest = poll.quietMs * POLLS_PER_BIND
  return Math.min(poll.dormantMs, Math.max(shortest, Math.min(poll.maxMs, quietForMs * QUIET_SHARE)))
}

/** @returns milliseconds to the next read; up to a tenth of jitter keeps many from coming due together. */
export function idWaitMs(policy: PollPolicy, read: IdRead, isFinal: boolean, quietForMs: number, clock: Pick<Clock, 'random'>): number {
  return Math.round(longestIdWaitMs(policy, read, isFinal, quietForMs) * (1 - 0.1 * clock.random()))
}
