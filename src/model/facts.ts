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
  /** Whether a full re-read of the feed found it. */
  readonly isFullRead: boolean
  /** Whether the same feed read read earlier pages; records may have become visible on them since. */
  readonly pagesBefore?: boolean
  /** Whether an operator replayed its delivery, so that its time of application doesn't measure delays. */
  readonly isReplayed?: boolean
  /** Whether the feed was never read to its end before: old records in it are `backfill`. */
  readonly firstFeedRead: boolean
  /** Columns that a reconcile run may empty or change; an attachment's as `position.column`. Left out: all, for comparing. */
  readonly corrects?: readonly string[]
}

export interface EventFact extends SubmissionRef, Origin {
  readonly kind: 'event'
  readonly event: MarketEvent
}

export interface MessageFact extends SubmissionRef, Origin {
  readonly kind: 'message'
  readonly message: ThreadMessage
}

export interface StateFact extends SubmissionRef {
  readonly kind: 'state'
  readonly read: StateRead
  /** The id that a read by id asked for. */
  readonly ownId?: string
  readonly cause: Cause
  readonly view: View
  /** The read number, taken before the request was sent (invariant 6). */
  readonly readNo: number
  readonly readAt: TimeText
  /** Hash of the view, if an unchanged view need not be compared. */
  readonly contentHash?: string
}

/** Whether the service knows a submission. `unreachableSince`: when it first did not; null: it does. */
export interface ReachabilityFact extends SubmissionRef {
  readonly kind: 'reach'
  readonly cause: Cause
  readonly unreachableSince: TimeText | null
}

/** A submission became known, or some of its reads may have news. */
interface ReadRequest extends SubmissionRef {
  readonly kind: 'request'
  readonly cause: Cause
  readonly reads: readonly OwnRead[]
  /** For a new submission: how it became known, unless `cause` says so. */
  readonly trackedVia?: string
}

/** Records missing from two complete re-reads (invariant 7). */
export interface AbsentFact extends SubmissionRef {
  readonly kind: 'absent'
  readonly cause: Cause
  readonly events: readonly string[]
  readonly messages: readonly string[]
  readonly attachments: readonly { readonly messageId: string; readonly position: number }[]
  readonly goneAt: TimeText
}

/** Ids that an answer or an operator named, outside the other facts. */
interface NamedFact extends SubmissionRef {
  readonly kind: 'named'
  readonly cause: Cause
  readonly ids: readonly KnownId[]
  /** Who named them, as in `known_ids.via`. */
  readonly via: string
}

/** Recomputes derived columns, such as `last_event_at`, from all stored records. */
export interface DerivedFact extends SubmissionRef {
  readonly kind: 'derived'
  readonly cause: Cause
  readonly now: TimeText
  /** Insureds that answers name for the submission, the best source first. The first replaces a stored one that is none of them. */
  readonly insuredIds?: readonly string[]
}

/** The result of fetching a document's file, or of checking that it still exists. */
export interface DocumentFact extends SubmissionRef {
  readonly kind: 'document'
  readonly cause: Cause
  readonly documentKey: string
  readonly triedAt: TimeText
  /** The file, already durable; null: the attempt failed. */
  readonly stored: { readonly sha256: string; readonly bytes: number; readonly path: string } | null
  /** Why it failed; null if it did not. */
  readonly error: string | null
  /** Whether a stored file is missing. */
  readonly isLost?: boolean
}

export type Fact =
  | EventFact
  | MessageFact
  | StateFact
  | ReachabilityFact
  | ReadRequest
  | AbsentFact
  | NamedFact
  | DerivedFact
  | DocumentFact
