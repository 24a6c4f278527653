import type { KnownId } from './known-ids.ts'
import type { OwnRead, StateRead } from './reads.ts'
import type { Cause, MarketEvent, ThreadMessage, Via } from './records.ts'
import type { TimeText } from './time.ts'
import type { View } from './view.ts'

/** The submission of a fact. */
export interface Place {
  readonly account: string
  /** Empty for what belongs to no submission that is known. */
  readonly submissionId: string
}

/** The value of `submission_id` in a row. */
export function submissionIn({ submissionId }: Pick<Place, 'submissionId'>): string | null {
  return submissionId === '' ? null : submissionId
}

/** How a record was received, and why. */
export interface Origin {
  readonly via: Via
  readonly cause: Cause
  /** Whether it was read in a walk from the beginning of the feed. */
  readonly fromReplay: boolean
  /** Whether earlier pages of the same walk were read before; records may have become visible on them since. */
  readonly pagesBefore?: boolean
  /** Whether an operator had its delivery replayed: when it is applied tells nothing of how long the service's news take. */
  readonly isReplayed?: boolean
  /** Whether the feed was never read to its end before: old records in it are `backfill`. */
  readonly firstWalk: boolean
  /** Columns that a reconcile run may empty or change; an attachment's as `position.column`. Left out: all, for comparing. */
  readonly corrects?: readonly string[]
}

/** A delivered or read market event. */
export interface EventFact extends Place, Origin {
  readonly kind: 'event'
  readonly event: MarketEvent
}

/** A delivered or read thread message. */
export interface MessageFact extends Place, Origin {
  readonly kind: 'message'
  readonly message: ThreadMessage
}

/** The result of a state read. */
export interface StateFact extends Place {
  readonly kind: 'state'
  readonly read: StateRead
  /** The id that a read by id asked for. */
  readonly ownId?: string
  readonly cause: Cause
  readonly view: View
  /** The read number, taken before the request was sent (invariant 6). */
  readonly readNo: number
  readonly readAt: TimeText
  /** Of the view, when one that shows the same again need not be compared. */
  readonly contentHash?: string
}

/** Whether the service knows a submission. `unreachableSince`: when it first did not; null: it does. */
export interface ReachabilityFact extends Place {
  readonly kind: 'reach'
  readonly cause: Cause
  readonly unreachableSince: TimeText | null
}

/** A submission became known, or some of its reads may have news. */
export interface WakeFact extends Place {
  readonly kind: 'wake'
  readonly cause: Cause
  readonly reads: readonly OwnRead[]
  /** For a new submission: how it became known, unless the cause tells. */
  readonly trackedVia?: string
}

/** Records that two complete replays did not show (invariant 7). */
export interface AbsentFact extends Place {
  readonly kind: 'absent'
  readonly cause: Cause
  readonly events: readonly string[]
  readonly messages: readonly string[]
  readonly attachments: readonly { readonly messageId: string; readonly position: number }[]
  readonly goneAt: TimeText
}

/** Ids that an answer or an operator named beside all other facts. */
export interface NamedFact extends Place {
  readonly kind: 'named'
  readonly cause: Cause
  readonly ids: readonly KnownId[]
  /** Who named them, as in `known_ids.via`. */
  readonly via: string
}

/** Asks to recompute derived columns, such as `last_event_at`, from all stored records. */
export interface DerivedFact extends Place {
  readonly kind: 'derived'
  readonly cause: Cause
  readonly now: TimeText
  /** Insureds that answers name for the submission, the best source first. A stored one that is none of them is replaced by the first. */
  readonly insuredIds?: readonly string[]
}

/** What became of an attempt to fetch a document's file, or of looking whether it is still there. */
export interface DocumentFact extends Place {
  readonly kind: 'document'
  readonly cause: Cause
  readonly documentKey: string
  readonly triedAt: TimeText
  /** The file, which is durable already; null: the attempt failed. */
  readonly stored: { readonly sha256: string; readonly bytes: number; readonly path: string } | null
  /** Why it failed; null when it did not. */
  readonly error: string | null
  /** Whether a file that was stored is no longer there. */
  readonly isLost?: boolean
}

export type Fact = EventFact | MessageFact | StateFact | ReachabilityFact | WakeFact | AbsentFact | NamedFact | DerivedFact | DocumentFact
