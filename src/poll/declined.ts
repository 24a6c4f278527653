import type { ReadClaim, ReadSettlement } from '../store/reads/claims.ts'
import { rank } from '../store/reads/reads.ts'

/** Waits after refusals in a row: a new submission may not have it yet. */
const WAIT_MS = [120_000, 3_600_000, 86_400_000] as const

/** @returns milliseconds until a refused read is tried again. @param failures in a row, the last one included. */
export function declinedWaitMs(failures: number): number {
  return WAIT_MS[Math.min(failures, WAIT_MS.length) - 1] ?? WAIT_MS[0]
}

/**
 * How a read beside the requirements view that was refused by 403 or 404 comes again. The refusal says nothing about the submission or the
 * credentials, so nothing is marked.
 * @param failures in a row, this one included.
 */
export function afterDeclined(claim: ReadClaim, failures: number, error: string | null): ReadSettlement {
  return {
    rank: rank.background,
    dueInMs: declinedWaitMs(failures),
    failures,
    notFound: 0,
    stalledWalks: claim.stalledWalks,
    complete: false,
    changed: false,
    error,
  }
}
