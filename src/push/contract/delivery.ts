import type { Clock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import type { proxySettings } from '../../config/config.ts'
import type { Row } from '../../model/entity.ts'
import type { TimeText } from '../../model/time.ts'
import type { Db } from '../../store/engine/db.ts'
import type { FilesWritten, PushProgress, RecordTaken } from '../../store/outbox/progress.ts'
import type { QueuedChange } from '../../store/outbox/rows.ts'
import type { OpenDocument } from './documents.ts'

/** The AMS client and policy that a submission belongs to. */
export interface Mapping {
  readonly client: string
  readonly policy: string | null
  /** Further values for templates. */
  readonly fields: Readonly<Record<string, string>>
}

/** One change for one destination, without personal columns that the destination didn't opt in to. */
export interface PushItem extends QueuedChange {
  readonly outboxId: number
  readonly destination: string
  readonly snapshot: boolean
  readonly changedAt: TimeText
  /** Old values of the changed columns; null on insert. */
  readonly before: Row | null
  /** New values of the changed columns; all columns on insert. */
  readonly after: Row | null
  /** `after` as JSON text; null if unknown or if columns were left out. */
  readonly afterText: string | null
  /** Direction as the brokerage sees it; null for non-messages. */
  readonly direction: 'sent' | 'received' | null
  /** Whether the brokerage wrote the message. */
  readonly echo: boolean
  /** The submission's current row, without columns that must not be sent; null if no row exists or the kind doesn't need it. */
  readonly submission: Row | null
  readonly mapping: Mapping | null
  /** Whether this change made the record stop passing `filter`. */
  readonly leftFilter: boolean
  /** The record's id at the target, if the target gave one. */
  readonly remoteId: string | null
  readonly attempts: number
  /** Progress of earlier attempts; null if none. */
  readonly progress: PushProgress | null
}

/** Outcome of one attempt. */
export type Outcome =
  /** The target has the message. */
  | { readonly type: 'delivered'; readonly status: number | null; readonly remoteId: string | null; readonly detail: string | null }
  /** The target has a document's record. The next attempt uploads the document. */
  | { readonly type: 'record_taken'; readonly status: number | null; readonly remoteId: string | null; readonly progress: RecordTaken }
  /**
   * The target didn't accept the message. `permanent`: it would reject a repetition. `isFinal`: settings rule out retries. `alive`: whether
   * it answered; null if a local reason prevented the request.
   */
  | {
      readonly type: 'failed'
      readonly permanent: boolean
      readonly isFinal?: boolean
      readonly alive: boolean | null
      readonly status: number | null
      readonly error: string
      /** From `Retry-After`: a pause for all requests. */
      readonly retryAfterMs: number | null
    }
  /**
   * The request was sent, but the target may or may not have accepted it. `status`: from an unclear answer. `progress`: where the next
   * attempt continues.
   */
  | {
      readonly type: 'unknown'
      readonly error: string
      readonly status?: number
      readonly retryAfterMs?: number
      readonly progress?: FilesWritten
    }
  /** The target asked for a pause. It didn't accept the message, and the attempt doesn't count. `isOwn`: only this message has to wait. */
  | {
      readonly type: 'throttled'
      readonly status: number | null
      readonly error: string
      readonly retryAfterMs: number
      readonly isOwn?: true
    }
  /** No time was left to send this item of a batch. */
  | { readonly type: 'not_attempted' }
  /**
   * The whole batch was rejected; no item was accepted. Smaller batches show which item is at fault, so the attempt doesn't count.
   * `status`: null if no request was sent.
   */
  | { readonly type: 'split'; readonly status: number | null; readonly error: string }
  /** The submission has no known client in the AMS. */
  | { readonly type: 'unmapped'; readonly error: string }
  /** The endpoint rejects all messages. It didn't accept this message, and the attempt doesn't count. */
  | {
      readonly type: 'suspend'
      readonly retry: SuspensionRetry
      readonly status: number | null
      readonly error: string
      /** Shortest wait that the target requested. */
      readonly retryAfterMs?: number | null
    }

/**
 * When a suspended destination is retried. `soon`: with a growing delay. `slowly`: attempts could lock the account. `manually`: after an
 * operator resumes it, because the endpoint is gone (410).
 */
type SuspensionRetry = 'soon' | 'slowly' | 'manually'

/** Whether a target still has a message that it accepted. */
export type Presence =
  /** `differs`: the target has the record, but with other content. */
  | { readonly type: 'has' | 'lacks' | 'differs' }
  | { readonly type: 'undetermined'; readonly outcome: Extract<Outcome, { readonly error: string }> }

/** Consecutive attempts without a useful answer that open the circuit. */
export const FAILURES_TO_OPEN = 5

/** Type of the webhook that a probe sends. Receivers ignore unknown types. */
export const TEST_TYPE = 'submission-mirror.test'

export interface ProbeResult {
  /** null if no harmless request exists. */
  readonly ok: boolean | null
  /** One sentence: what works, or what is wrong and how to fix it. */
  readonly text: string
}

/** A request without authentication headers. Header names are in lower case. */
export interface BuiltRequest {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
}

export interface PreviewedRequest extends BuiltRequest {
  /** The request that uploads the document. */
  readonly upload?: BuiltRequest
}

export type Batching =
  | { readonly type: 'one' }
  /** Up to `maxItems` of any streams together. Each stream stays in order. */
  | {
      readonly type: 'many'
      readonly maxItems: number
      /** How long to wait for more items. */
      readonly gatherMs: number
      /**
       * Set if items are answered one by one. A batch contains only items of one group, and at most one per stream. Otherwise the target
       * could accept a submission's second change before its first.
       */
      readonly groupOf?: (item: PushItem) => string
    }

/** One way to deliver. It never retries, and has no state that must survive the process. */
export interface DeliveryKind {
  readonly batch: Batching
  /** Skips reading each item's submission, which the kind doesn't use. */
  readonly withoutSubmission?: true | undefined
  /** Sends within the destination's `timeoutMs`. Never rejects. @returns one outcome for each item, in order. */
  send(items: readonly PushItem[], signal: AbortSignal): Promise<readonly Outcome[]>
  /** Looks up whether the target has the message. @returns `delivered` if yes, null if no, `failed` if the answer is unclear. */
  readonly lookUp?: ((item: PushItem, signal: AbortSignal) => Promise<Outcome | null>) | undefined
  /** Time after an attempt in which finding nothing is inconclusive. Default 0. */
  readonly lookupAfterMs?: number | undefined
  /** Checks whether the target still has a message that it accepted. Never rejects. */
  readonly verify?: ((item: PushItem, signal: AbortSignal) => Promise<Presence>) | undefined
  /** @returns the submission's AMS client; null if none is found. */
  readonly findMapping?: ((item: PushItem, signal: AbortSignal) => Promise<Mapping | null>) | undefined
  /** Builds an item's request without sending it. @throws PermanentError if a template fails. */
  readonly preview?: ((item: PushItem) => Promise<PreviewedRequest>) | undefined
  /** Sends one harmless request. Never rejects. */
  probe(signal: AbortSignal): Promise<ProbeResult>
  close(): Promise<void>
}

export interface KindContext {
  readonly clock: Clock
  readonly log: Log
  readonly proxy: ReturnType<typeof proxySettings>
  /** Not set if nothing is sent. */
  readonly openDocument?: OpenDocument
  /** Stores refresh tokens. Not set if no changes are sent: then the kind logs in separately and ignores stored tokens. */
  readonly db?: Db
}
