import type { ReadKind, StateRead } from './reads.ts'
import type { Cause, MarketEvent, ThreadMessage, Via } from './records.ts'
import type { TimeText } from './time.ts'
import type { View } from './view.ts'

/** Where a fact belongs. */
export interface Place {
  readonly account: string
  readonly submissionId: string
}

/** How and why a fact came. */
export interface Origin {
  readonly via: Via
  readonly cause: Cause
  /** It was read from the beginning of a feed. */
  readonly fromReplay: boolean
  /** Pages of the same walk were read before it, on which something may have become visible since. */
  readonly pagesBefore?: boolean
  /** The feed was never read to its end before: what is old in it is `backfill`, not news. */
  readonly firstWalk: boolean
  /**
   * Of a reconcile run: the values that it may empty or change, by column, of an attachment as `position.column`. Left out: all of them,
   * for comparing.
   */
  readonly corrects?: readonly string[]
}

/** A market event that was delivered or read. */
export interface EventFact extends Place, Origin {
  readonly kind: 'event'
  readonly event: MarketEvent
}

/** A thread message that was delivered or read. */
export interface MessageFact extends Place, Origin {
  readonly kind: 'message'
  readonly message: ThreadMessage
}

/** A view of the state that was read. */
export interface StateFact extends Place {
  readonly kind: 'state'
  readonly read: StateRead
  readonly cause: Cause
  readonly view: View
  /** The number that the read took before it was sent (invariant 6). */
  readonly readNo: number
  readonly readAt: TimeText
}

/** Whether the service still shows a submission: `since` is when it first did not, null when it does (again). */
export interface ReachabilityFact extends Place {
  readonly kind: 'reach'
  readonly cause: Cause
  readonly unreachableSince: TimeText | null
}

/** A submission became known, or something hints that some of its reads have news. */
export interface WakeFact extends Place {
  readonly kind: 'wake'
  readonly cause: Cause
  readonly reads: readonly ReadKind[]
  /** How a submission that was not known became known, where the cause does not tell. */
  readonly trackedVia?: string
}

/** Records that two whole replays no longer showed (invariant 7). */
export interface AbsentFact extends Place {
  readonly kind: 'absent'
  readonly cause: Cause
  readonly events: readonly string[]
  readonly messages: readonly string[]
  readonly attachments: readonly { readonly messageId: string; readonly position: number }[]
  readonly goneAt: TimeText
}

/** What follows from a submission's records, such as when the newest was, is to be worked out from all that are stored. */
export interface DerivedFact extends Place {
  readonly kind: 'derived'
  readonly cause: Cause
  readonly now: TimeText
}

export type Fact = EventFact | MessageFact | StateFact | ReachabilityFact | WakeFact | AbsentFact | DerivedFact
