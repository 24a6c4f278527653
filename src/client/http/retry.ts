import { doublingMs } from '../../base/clock.ts'

/** How reads, and writes that may be, are repeated. */
export interface Retry {
  /** Attempts in all; 1 repeats nothing. */
  readonly tries: number
  /** The longest wait before the second attempt, in milliseconds; it doubles with each. */
  readonly baseMs: number
}

export const RETRY: Retry = { tries: 4, baseMs: 250 }

/** The service asks for more than anybody waits for: the caller is told instead. */
export const LONGEST_WAIT_S = 120
const LONGEST_BACKOFF_MS = 20_000

/** @returns how long to wait before the next attempt, with full jitter, in milliseconds. */
export function backoffMs({ baseMs }: Retry, attempt: number): number {
  return Math.random() * doublingMs(attempt - 1, baseMs, LONGEST_BACKOFF_MS)
}
