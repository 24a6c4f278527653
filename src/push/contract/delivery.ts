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
  /** Further values that templates can use. */
  readonly fields: Readonly<Record<string, string>>
}

/** One change for one destination. Personal columns are missing unless the destination opted in. */
export interface PushItem extends QueuedChange {
  readonly outboxId: number
  readonly destination: string
  readonly snapshot: boolean
  readonly changedAt: TimeText
  /** Old values of the changed columns. Null for an insert, a purge, or a snapshot row. */
  readonly before: Row | null
  /** New values of the changed columns. For an insert or a snapshot row, all columns. For a purge, empty. */
  readonly after: Row | null
  /** `after` as JSON text. Null if the stored text isn't available, or if columns were left out of `after`. */
  readonly afterText: string | null
  /**
   * Direction of a message as the brokerage sees it. Null if the record isn't a message, or if the
   * direction is unknown.
   */
  readonly direction: 'sent' | 'received' | null
  /** Whether the brokerage wrote the message. False if the record isn't a message. */
  readonly echo: boolean
  /**
   * The submission's current row, without columns that must not be sent. Null if the submission has no row, or if the
   * kind doesn't need the row.
   */
  readonly submission: Row | null
  readonly mapping: Mapping | null
  /** Whether the record no longer passes the destination's `filter` because of this change. */
  readonly leftFilter: boolean
  /** The record's id at the target; null if unknown. */
  readonly remoteId: string | null
  readonly attempts: number
  /** What earlier attempts achieved; null if nothing. */
  readonly progress: PushProgress | null
}

/** Outcome of one attempt. */
export type Outcome =
  /** The target has the message. */
  | { readonly type: 'delivered'; readonly status: number | null; readonly remoteId: string | null; readonly detail: string | null }
  /** The target accepted the record of a document. The next attempt uploads the file. */
  | { readonly type: 'record_taken'; readonly status: number | null; readonly remoteId: string | null; readonly progress: RecordTaken }
  /**
   * The target didn't accept the message.
   * - `permanent`: the target would reject the message again
   * - `isFinal`: the message isn't retried
   * - `alive`: true if the target answered with a status below 500; null if a local problem prevented the request;
   *   otherwise false
   */
  | {
      readonly type: 'failed'
      readonly permanent: boolean
      readonly isFinal?: boolean
      readonly alive: boolean | null
      readonly status: number | null
      readonly error: string
      /** From `Retry-After`, in ms. All requests to the destination must wait this long. */
      readonly retryAfterMs: number | null
    }
  /**
   * The message may have been sent, and the target may have accepted it.
   * - `status`: status of an unclear answer; missing if no answer arrived
   * - `progress`: where the next attempt continues
   */
  | {
      readonly type: 'unknown'
      readonly error: string
      readonly status?: number
      readonly retryAfterMs?: number
      readonly progress?: FilesWritten
    }
  /**
   * The target asked for a pause and didn't accept the message. The attempt doesn't count. With `isOwn`, only this
   * message waits. Otherwise, the whole destination waits.
   */
  | {
      readonly type: 'throttled'
      readonly status: number | null
      readonly error: string
      readonly retryAfterMs: number
      readonly isOwn?: true
    }
  /** The message wasn't sent, for example because no time was left for its batch. */
  | { readonly type: 'not_attempted' }
  /**
   * The whole batch failed permanently, so the target accepted no message. The messages are sent again in smaller
   * batches, to find the bad message. The attempt doesn't count. `status` is null if no request was sent.
   */
  | { readonly type: 'split'; readonly status: number | null; readonly error: string }
  /** The submission has no known client in the AMS. */
  | { readonly type: 'unmapped'; readonly error: string }
  /** The endpoint rejects all messages, so the destination is suspended. The attempt doesn't count. */
  | {
      readonly type: 'suspend'
      readonly retry: SuspensionRetry
      readonly status: number | null
      readonly error: string
      /** Minimum wait before the next attempt, in ms, if the target requested one. */
      readonly retryAfterMs?: number | null
    }

/**
 * When a suspended destination is retried.
 * - `soon`: with a growing delay
 * - `slowly`: rarely, because attempts could lock the account
 * - `manually`: only when an operator resumes the destination, because the endpoint is gone (410)
 */
type SuspensionRetry = 'soon' | 'slowly' | 'manually'

/** Whether a target still has a message that the target accepted earlier. */
export type Presence =
  /** `differs`: the target has the record, but with other content. */
  | { readonly type: 'has' | 'lacks' | 'differs' }
  | { readonly type: 'undetermined'; readonly outcome: Extract<Outcome, { readonly error: string }> }

/**
 * After this many attempts in a row without an answer, or with a 5xx answer, the destination's circuit opens. Sending
 * pauses, then continues with one message at a time.
 */
export const FAILURES_TO_OPEN = 5

/** Type of the webhook that a probe sends. Receivers ignore unknown types. */
export const TEST_TYPE = 'submission-mirror.test'

export interface ProbeResult {
  /** Whether the check succeeded. Null if nothing was sent, because the destination has no harmless request. */
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
  /** The second request, which uploads the document. */
  readonly upload?: BuiltRequest
}

export type Batching =
  | { readonly type: 'one' }
  /** Sends up to `maxItems` messages of any streams together. Each stream stays in order. */
  | {
      readonly type: 'many'
      readonly maxItems: number
      /** How long to wait for more messages, in ms. */
      readonly gatherMs: number
      /**
       * Returns the message's group. Set if the target answers each message separately. A batch then contains only
       * messages of one group, and at most one message per stream. With two messages of a stream, the target could
       * reject the first but accept the second.
       */
      readonly groupOf?: (item: PushItem) => string
    }

/** One way to deliver changes. `send` makes one attempt. A kind keeps no state that must survive the process. */
export interface DeliveryKind {
  readonly batch: Batching
  /** Set if the kind doesn't use `PushItem.submission`. The submission's row then isn't read. */
  readonly withoutSubmission?: true | undefined
  /**
   * Sends messages within the destination's `timeoutMs`. Never rejects.
   * @returns one outcome for each item, in order.
   */
  send(items: readonly PushItem[], signal: AbortSignal): Promise<readonly Outcome[]>
  /**
   * Asks whether the target has the message.
   * @returns `delivered` if the target has the message; null if not. Another outcome if the answer is unclear, or if
   * the document's upload must follow.
   */
  readonly lookUp?: ((item: PushItem, signal: AbortSignal) => Promise<Outcome | null>) | undefined
  /** For this many ms after an attempt, a lookup that finds nothing is inconclusive. Default: 0. */
  readonly lookupAfterMs?: number | undefined
  /** Checks whether the target still has a message that it accepted. Never rejects. */
  readonly verify?: ((item: PushItem, signal: AbortSignal) => Promise<Presence>) | undefined
  /**
   * Finds the submission's client in the AMS.
   * @returns null if no client matches.
   */
  readonly findMapping?: ((item: PushItem, signal: AbortSignal) => Promise<Mapping | null>) | undefined
  /**
   * Builds an item's request without sending the request.
   * @throws PermanentError if a template fails.
   */
  readonly preview?: ((item: PushItem) => Promise<PreviewedRequest>) | undefined
  /** Sends one harmless request to check the connection. Never rejects. */
  probe(signal: AbortSignal): Promise<ProbeResult>
  close(): Promise<void>
}

export interface KindContext {
  readonly clock: Clock
  readonly log: Log
  readonly proxy: ReturnType<typeof proxySettings>
  /** Opens stored documents. Missing if no documents are sent or previewed. */
  readonly openDocument?: OpenDocument
  /**
   * Stores refresh tokens, and lists unfinished deliveries of files. Missing if no changes are sent, for example in
   * `doctor`. The kind then logs in separately and ignores stored tokens.
   */
  readonly db?: Db
}
