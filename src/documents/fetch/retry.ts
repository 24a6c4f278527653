import { backoffMs, type Clock } from '../../base/clock.ts'
import { PermanentError, TransientError } from '../../base/errors.ts'
import { type FetchClaim, type FetchSettlement, LONGEST_FETCH_WAIT_MS } from '../../store/reads/fetches.ts'
import { RefusedLinkError } from '../../upstream/http/elsewhere.ts'
import { TooLongDocument } from '../storage/errors.ts'

const FIRST_WAIT_MS = 30_000
/** What cannot be retrieved is tried again for so long (trap 54). */
export const RETRY_DAYS = 14
const RETRY_MS = RETRY_DAYS * 86_400_000
/** Until a storage that takes nothing is tried again. */
export const STORAGE_PAUSE_MS = 60_000

/** When a document that could not be fetched is tried again; `why` not, as the rest of a sentence. */
export interface RetryPlan extends FetchSettlement {
  readonly why: string
}

/** Nearly every failure may pass: the spec says of none that it does not. Only what our settings refuse waits for other settings. */
export function planRetry(claim: FetchClaim, failure: unknown, maxBytes: number, clock: Clock): RetryPlan {
  const failures = claim.failures + 1
  if (failure instanceof TooLongDocument) return { dueInMs: null, failures, refusedOverBytes: maxBytes, why: '' }
  const isRefused = failure instanceof RefusedLinkError || (failure instanceof Error && failure.constructor === PermanentError)
  if (isRefused) return { dueInMs: null, failures, why: '' }
  const since = claim.failingSince ?? clock.now()
  if (clock.now() - since > RETRY_MS) return { dueInMs: null, failures, why: `; given up after ${RETRY_DAYS} days` }
  const askedMs = failure instanceof TransientError ? (failure.retryAfterMs ?? 0) : 0
  const waitMs = Math.max(askedMs, backoffMs(clock, failures, FIRST_WAIT_MS, LONGEST_FETCH_WAIT_MS))
  return { dueInMs: Math.min(waitMs, LONGEST_FETCH_WAIT_MS), failures, why: '' }
}
