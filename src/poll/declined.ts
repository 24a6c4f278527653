import type { ReadClaim, ReadSettlement } from '../store/reads/claims.ts'
import { rank } from '../store/reads/reads.ts'

/**
 * Waits in ms after the first, the second, and each later consecutive refusal. The first wait is short, because the
 * service may offer the read for a new submission soon.
 */
const WAIT_MS = [120_000, 3_600_000, 86_400_000] as const

/** @returns milliseconds until a refused read is retried. @param failures consecutive failures, including the last. */
export function declinedWaitMs(failures: number): number {
  return WAIT_MS[Math.min(failures, WAIT_MS.length) - 1] ?? WAIT_MS[0]
}

/**
 * @returns how to store a detail read that was rejected with 403 or 404. The rejection counts neither against the
 * submission nor against the credentials.
 * @param failures consecutive failures, including this one.
 */
export function afterDeclined(claim: ReadClaim, failures: number, error: string | null): ReadSettlement {
  return {
    rank: rank.background,
    dueInMs: declinedWaitMs(failures),
    failures,
    notFound: 0,
    stalledFeedReads: claim.stalledFeedReads,
    complete: false,
    changed: false,
    error,
  }
}
