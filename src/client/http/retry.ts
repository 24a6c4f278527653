import { doublingMs } from '../../base/clock.ts'

/** How to retry reads and idempotent writes. */
export interface Retry {
  /** Maximum number of attempts. 1 means no retry. */
  readonly tries: number
  /** Longest wait before the second attempt, in ms. The limit doubles with each further attempt, up to 20,000. */
  readonly baseMs: number
}

export const RETRY: Retry = { tries: 4, baseMs: 250 }

/** If `Retry-After` is longer than this, the call throws instead of waiting. */
export const LONGEST_WAIT_S = 120
const LONGEST_BACKOFF_MS = 20_000

/** @returns a random wait before the next attempt, in ms. The upper limit doubles with each attempt, up to 20,000. */
export function backoffMs({ baseMs }: Retry, attempt: number): number {
  return Math.random() * doublingMs(attempt - 1, baseMs, LONGEST_BACKOFF_MS)
}
