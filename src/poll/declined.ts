import type { ReadClaim, ReadSettlement } from '../store/reads/claims.ts'
import { rank } from '../store/reads/reads.ts'

/** Waits after refusals in a row, short at first for new submissions. */
const WAIT_MS = [120_000, 3_600_000, 86_400_000] as const

/** @returns milliseconds until a refused read is retried. @param failures in a row, including the last. */
export function declinedWaitMs(failures: number): number {
  return WAIT_MS[Math.min(failures, WAIT_MS.length) - 1] ?? WAIT_MS[0]
}

/**
 * Settles a detail read rejected with 403 or 404. The rejection doesn't count against the submission or the credentials.
 * @param failures in a row, including this one.
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
