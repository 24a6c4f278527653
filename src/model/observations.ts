import type { KnownId } from './known-ids.ts'
import type { OwnRead, StateRead } from './reads.ts'
import type { Cause, MarketEvent, ThreadMessage, Via } from './records.ts'
import type { TimeText } from './time.ts'
import type { View } from './view.ts'

export interface SubmissionRef {
  readonly account: string
  /** Empty if the record belongs to no known submission. */
  readonly submissionId: string
}

/** @returns the value of the column `submission_id`: null instead of an empty id. */
export function submissionIn({ submissionId }: Pick<SubmissionRef, 'submissionId'>): string | null {
  return submissionId === '' ? null : submissionId
}

/** How a record was received, and why. */
export interface Origin {
  readonly via: Via
  readonly cause: Cause
  /** True if a full re-read found the record. */
  readonly isFullRead: boolean
  /**
   * True if the record isn't on the first page of its feed read. The read may then have missed earlier records, because
   * the service may have added them to a page that was already read.
   */
  readonly pagesBefore?: boolean
  /**
   * True if an operator replayed the delivery. The time until the delivery is applied then doesn't count as a delay.
   */
  readonly isReplayed?: boolean
  /** True until a read has reached the end of the feed. While true, old records count as `backfill`. */
  readonly firstFeedRead: boolean
  /**
   * Columns that a reconcile run may correct; for attachments, `<position>.<column>`. Default: all compared columns.
   */
  readonly corrects?: readonly string[]
}

export interface EventObservation extends SubmissionRef, Origin {
  readonly kind: 'event'
  readonly event: MarketEvent
}

export interface MessageObservation extends SubmissionRef, Origin {
  readonly kind: 'message'
  readonly message: ThreadMessage
}

export interface StateObservation extends SubmissionRef {
  readonly kind: 'state'
  readonly read: StateRead
  /** For a read by id: the requested id. */
  readonly ownId?: string
  readonly cause: Cause
  readonly view: View
  /** Number of the read, taken before the request was sent. */
  readonly readNo: number
  readonly readAt: TimeText
  /** Hash of the view. If the last applied view has the same hash, the views needn't be compared. */
  readonly contentHash?: string
}

/**
 * Says whether the service knows a submission. `unreachableSince`: since when the service doesn't know the submission;
 * null if the service knows it.
 */
export interface ReachabilityObservation extends SubmissionRef {
  readonly kind: 'reach'
  readonly cause: Cause
  readonly unreachableSince: TimeText | null
}

/** Adds a submission, or requests reads that may return new data. */
interface ReadRequest extends SubmissionRef {
  readonly kind: 'request'
  readonly cause: Cause
  readonly reads: readonly OwnRead[]
  /** For a new submission: how the submission became known. Default: `cause`. */
  readonly trackedVia?: string
}

/** Records that were missing from two complete re-reads. */
export interface AbsentObservation extends SubmissionRef {
  readonly kind: 'absent'
  readonly cause: Cause
  readonly events: readonly string[]
  readonly messages: readonly string[]
  readonly attachments: readonly { readonly messageId: string; readonly position: number }[]
  readonly goneAt: TimeText
}

/** Ids that an answer or an operator named, and that no other observation contains. */
interface NamedObservation extends SubmissionRef {
  readonly kind: 'named'
  readonly cause: Cause
  readonly ids: readonly KnownId[]
  /** What named the ids; see `known_ids.via`. */
  readonly via: string
}

/** Recomputes columns such as `last_event_at` from all stored records. */
export interface DerivedObservation extends SubmissionRef {
  readonly kind: 'derived'
  readonly cause: Cause
  readonly now: TimeText
  /**
   * Ids of insureds in answers, most reliable first. If the stored insured isn't in this list, the first id replaces
   * the stored insured.
   */
  readonly insuredIds?: readonly string[]
}

/** Result of fetching a document's file, or of checking that its file still exists. */
export interface DocumentObservation extends SubmissionRef {
  readonly kind: 'document'
  readonly cause: Cause
  readonly documentKey: string
  readonly triedAt: TimeText
  /** The stored file; null if the attempt failed. */
  readonly stored: { readonly sha256: string; readonly bytes: number; readonly path: string } | null
  /** Reason of the failure; null on success. */
  readonly error: string | null
  /** True if a stored file is missing. */
  readonly isLost?: boolean
}

export type Observation =
  | EventObservation
  | MessageObservation
  | StateObservation
  | ReachabilityObservation
  | ReadRequest
  | AbsentObservation
  | NamedObservation
  | DerivedObservation
  | DocumentObservation
