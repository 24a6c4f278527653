import { backoffMs, type Clock } from '../../base/clock.ts'
import { PermanentError, retryAfterOf } from '../../base/errors.ts'
import { msFromTime } from '../../model/time.ts'
import { type FetchClaim, type FetchSettlement, LONGEST_FETCH_WAIT_MS } from '../../store/reads/fetches.ts'
import { RefusedLinkError, UnnamedHostError } from '../../upstream/http/elsewhere.ts'
import { TooLongDocument } from '../storage/errors.ts'

const FIRST_WAIT_MS = 30_000
/** What cannot be retrieved is tried again for so long (trap 54). */
export const RETRY_DAYS = 14
const RETRY_MS = RETRY_DAYS * 86_400_000
/** Until a storage that takes nothing is tried again. */
export const STORAGE_PAUSE_MS = 60_000

/** When a document that could not be fetched is tried again. */
export interface RetryPlan extends FetchSettlement {
  /** What follows for whoever reads the error, as the rest of its sentence; empty where the error says what to do. */
  readonly next: string
}

const ASK = 'ask the service for the document'

/** Nearly every failure may pass: the spec says of none that it does not. Only what our settings refuse waits for other settings. */
export function planRetry(claim: FetchClaim, failure: unknown, maxBytes: number, clock: Clock): RetryPlan {
  const failures = claim.failures + 1
  if (failure instanceof TooLongDocument) return { dueInMs: null, failures, refusedOverBytes: maxBytes, next: '' }
  if (failure instanceof UnnamedHostError) return { dueInMs: null, failures, next: '' }
  const isRefused = failure instanceof RefusedLinkError || (failure instanceof Error && failure.constructor === PermanentError)
  if (isRefused) return { dueInMs: null, failures, next: `; it is not fetched again: ${ASK}` }
  const since = claim.failingSince === null ? clock.now() : msFromTime(claim.failingSince)
  if (clock.now() - since > RETRY_MS) return { dueInMs: null, failures, next: `; given up after ${RETRY_DAYS} days: ${ASK}` }
  const waitMs = Math.max(retryAfterOf(failure), backoffMs(clock, failures, FIRST_WAIT_MS, LONGEST_FETCH_WAIT_MS))
  return { dueInMs: Math.min(waitMs, LONGEST_FETCH_WAIT_MS), failures, next: '; it is fetched again by itself' }
}
