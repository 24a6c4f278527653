import type { KnownId } from './known-ids.ts'
import type { OwnRead, StateRead } from './reads.ts'
import type { Cause, MarketEvent, ThreadMessage, Via } from './records.ts'
import type { TimeText } from './time.ts'
import type { View } from './view.ts'

export interface SubmissionRef {
  readonly account: string
  /** Empty if no known submission has the record. */
  readonly submissionId: string
}

/** The value of `submission_id` in a row. */
export function submissionIn({ submissionId }: Pick<SubmissionRef, 'submissionId'>): string | null {
  return submissionId === '' ? null : submissionId
}

/** How a record was received, and why. */
export interface Origin {
  readonly via: Via
  readonly cause: Cause
  /** Whether a full re-read found the record. */
  readonly isFullRead: boolean
  /** Whether this feed read already read earlier pages, on which records may have appeared since. */
  readonly pagesBefore?: boolean
  /** Whether an operator replayed the delivery. Its time of application then measures no delay. */
  readonly isReplayed?: boolean
  /** True until a feed read reached the end. Old records then count as `backfill`. */
  readonly firstFeedRead: boolean
  /** Columns that a reconcile run may correct; `position.column` for attachments. Default: every compared column. */
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
  /** The id requested by a read by id. */
  readonly ownId?: string
  readonly cause: Cause
  readonly view: View
  /** The read number, taken before the request was sent. */
  readonly readNo: number
  readonly readAt: TimeText
  /** Hash of the view, to skip comparing an unchanged view. */
  readonly contentHash?: string
}

/** Whether the service knows a submission. `unreachableSince`: first time it didn't; null if it does. */
export interface ReachabilityObservation extends SubmissionRef {
  readonly kind: 'reach'
  readonly cause: Cause
  readonly unreachableSince: TimeText | null
}

/** A new submission, or reads that may return new data. */
interface ReadRequest extends SubmissionRef {
  readonly kind: 'request'
  readonly cause: Cause
  readonly reads: readonly OwnRead[]
  /** For a new submission: how it became known, unless `cause` says so. */
  readonly trackedVia?: string
}

/** Records missing from two complete re-reads. */
export interface AbsentObservation extends SubmissionRef {
  readonly kind: 'absent'
  readonly cause: Cause
  readonly events: readonly string[]
  readonly messages: readonly string[]
  readonly attachments: readonly { readonly messageId: string; readonly position: number }[]
  readonly goneAt: TimeText
}

/** Ids that an answer or an operator named and no other observation contains. */
interface NamedObservation extends SubmissionRef {
  readonly kind: 'named'
  readonly cause: Cause
  readonly ids: readonly KnownId[]
  /** Who named the ids; see `known_ids.via`. */
  readonly via: string
}

/** Recomputes derived columns, such as `last_event_at`, from all stored records. */
export interface DerivedObservation extends SubmissionRef {
  readonly kind: 'derived'
  readonly cause: Cause
  readonly now: TimeText
  /** Insureds named by answers, best source first. The first replaces a stored insured that isn't listed. */
  readonly insuredIds?: readonly string[]
}

/** The result of fetching a document's file, or of checking that it still exists. */
export interface DocumentObservation extends SubmissionRef {
  readonly kind: 'document'
  readonly cause: Cause
  readonly documentKey: string
  readonly triedAt: TimeText
  /** The durable file; null if the attempt failed. */
  readonly stored: { readonly sha256: string; readonly bytes: number; readonly path: string } | null
  /** Failure reason; null on success. */
  readonly error: string | null
  /** Whether a stored file is missing. */
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
