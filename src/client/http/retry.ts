import { doublingMs } from '../../base/clock.ts'

/** Retries of reads and idempotent writes. */
export interface Retry {
  /** Number of attempts. 1 means no retry. */
  readonly tries: number
  /** Longest wait before the second attempt, in ms. Doubles with each attempt. */
  readonly baseMs: number
}

export const RETRY: Retry = { tries: 4, baseMs: 250 }

/** With a longer `Retry-After`, the call throws. */
export const LONGEST_WAIT_S = 120
const LONGEST_BACKOFF_MS = 20_000

/** @returns the wait before the next attempt in ms, with full jitter. */
export function backoffMs({ baseMs }: Retry, attempt: number): number {
  return Math.random() * doublingMs(attempt - 1, baseMs, LONGEST_BACKOFF_MS)
}
