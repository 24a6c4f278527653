import type { Clock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import type { proxySettings } from '../../config/config.ts'
import type { Row } from '../../model/entity.ts'
import type { TimeText } from '../../model/time.ts'
import type { Db } from '../../store/engine/db.ts'
import type { FilesWritten, PushProgress, RecordTaken } from '../../store/outbox/progress.ts'
import type { QueuedChange } from '../../store/outbox/rows.ts'
import type { OpenDocument } from './documents.ts'

/** The client and policy of the AMS that a submission belongs to. */
export interface Mapping {
  readonly client: string
  readonly policy: string | null
  /** Further values for templates. */
  readonly fields: Readonly<Record<string, string>>
}

/** One change for one destination, without the personal columns that the destination didn't opt in to. */
export interface PushItem extends QueuedChange {
  readonly outboxId: number
  readonly destination: string
  readonly snapshot: boolean
  readonly changedAt: TimeText
  /** The changed columns' old values; null on insert. */
  readonly before: Row | null
  /** The changed columns' new values; all columns on insert. */
  readonly after: Row | null
  /** `after` as JSON text; null if it is unknown or columns were left out. */
  readonly afterText: string | null
  /** The brokerage's view of a message; null for everything else. */
  readonly direction: 'sent' | 'received' | null
  /** The brokerage wrote the message itself. */
  readonly echo: boolean
  /** The submission's current row, without columns that must not be sent; null if there is none, or the kind doesn't need it. */
  readonly submission: Row | null
  readonly mapping: Mapping | null
  /** The record stopped passing the destination's `filter` with this change. */
  readonly leftFilter: boolean
  /** The record's id at the target, if the target gave one. */
  readonly remoteId: string | null
  readonly attempts: number
  /** What earlier attempts achieved; null if nothing. */
  readonly progress: PushProgress | null
}

/** Outcome of one attempt. */
export type Outcome =
  /** The target has it. */
  | { readonly type: 'delivered'; readonly status: number | null; readonly remoteId: string | null; readonly detail: string | null }
  /** The target has the record of a document. The next attempt uploads the document. */
  | { readonly type: 'record_taken'; readonly status: number | null; readonly remoteId: string | null; readonly progress: RecordTaken }
  /**
   * The target did not take it. `permanent`: it would reject the same request again. `isFinal`: by the settings, no attempt can help.
   * `alive`: it answered; null if no request was sent for a local reason.
   */
  | {
      readonly type: 'failed'
      readonly permanent: boolean
      readonly isFinal?: boolean
      readonly alive: boolean | null
      readonly status: number | null
      readonly error: string
      /** `Retry-After`: a pause for all requests. */
      readonly retryAfterMs: number | null
    }
  /**
   * The request was sent, but it is unknown whether the target took it. `status`: of an unclear answer. `progress`: where the next attempt
   * continues.
   */
  | {
      readonly type: 'unknown'
      readonly error: string
      readonly status?: number
      readonly retryAfterMs?: number
      readonly progress?: FilesWritten
    }
  /**
   * The target takes nothing for a while. It did not take the message, and the attempt doesn't count. `isOwn`: only this message has to
   * wait.
   */
  | {
      readonly type: 'throttled'
      readonly status: number | null
      readonly error: string
      readonly retryAfterMs: number
      readonly isOwn?: true
    }
  /** No time was left for this item of a batch. */
  | { readonly type: 'not_attempted' }
  /**
   * The batch was rejected as a whole, and nothing was taken. Smaller batches show which item is at fault, so the attempt doesn't count.
   * `status`: null if no request was sent.
   */
  | { readonly type: 'split'; readonly status: number | null; readonly error: string }
  /** The submission has no known client in the AMS. */
  | { readonly type: 'unmapped'; readonly error: string }
  /** The endpoint rejects everything. It did not take the message, and the attempt doesn't count. */
  | {
      readonly type: 'suspend'
      readonly retry: SuspensionRetry
      readonly status: number | null
      readonly error: string
      /** Shortest wait that the target asked for. */
      readonly retryAfterMs?: number | null
    }

/**
 * When a suspended destination is retried: `soon` with a growing delay; `slowly` if each attempt could lock the account; `manually` after
 * an operator resumes it, because the endpoint is gone (410).
 */
type SuspensionRetry = 'soon' | 'slowly' | 'manually'

/** Whether a target still has a message that it took. */
export type Presence =
  /** `differs`: it has the record, but with other content. */
  | { readonly type: 'has' | 'lacks' | 'differs' }
  | { readonly type: 'undetermined'; readonly outcome: Extract<Outcome, { readonly error: string }> }

/** Attempts in a row without a useful answer before only single attempts are made. */
export const FAILURES_TO_OPEN = 5

/** Type of the webhook that a probe sends. Receivers ignore unknown types. */
export const TEST_TYPE = 'submission-mirror.test'

export interface ProbeResult {
  /** null: there is no harmless request. */
  readonly ok: boolean | null
  /** One sentence: what works, or what is wrong and how to fix it. */
  readonly text: string
}

/** A request without its authentication headers. Header names are in lower case. */
export interface BuiltRequest {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
}

export interface PreviewedRequest extends BuiltRequest {
  /** The request with the document, which follows. */
  readonly upload?: BuiltRequest
}

export type Batching =
  | { readonly type: 'one' }
  /** Up to `maxItems` of any streams together, in the order of each stream. */
  | {
      readonly type: 'many'
      readonly maxItems: number
      /** How long to wait for more items. */
      readonly gatherMs: number
      /**
       * Set if items are answered one by one. Only items of one group go together, at most one of a stream: if the target took only the
       * second change of a submission, the first would arrive after it.
       */
      readonly groupOf?: (item: PushItem) => string
    }

/** One way to deliver. It keeps nothing that must survive the process, and never retries. */
export interface DeliveryKind {
  readonly batch: Batching
  /** It doesn't use the submission of an item, so the submission is not read. */
  readonly withoutSubmission?: true | undefined
  /** Sends within the destination's `timeoutMs`. Never rejects. @returns one outcome for each item, in order. */
  send(items: readonly PushItem[], signal: AbortSignal): Promise<readonly Outcome[]>
  /** Looks up whether the target has the message. @returns `delivered` if it has, null if it hasn't, `failed` if the answer is unclear. */
  readonly lookUp?: ((item: PushItem, signal: AbortSignal) => Promise<Outcome | null>) | undefined
  /** How long after an attempt a lookup that finds nothing stays undecided. Default 0. */
  readonly lookupAfterMs?: number | undefined
  /** Asks whether the target still has a message that it took. Never rejects. */
  readonly verify?: ((item: PushItem, signal: AbortSignal) => Promise<Presence>) | undefined
  /** Finds the AMS client of a submission; null if there is none. */
  readonly findMapping?: ((item: PushItem, signal: AbortSignal) => Promise<Mapping | null>) | undefined
  /** Builds the request of an item and sends nothing. @throws PermanentError if a template fails. */
  readonly preview?: ((item: PushItem) => Promise<PreviewedRequest>) | undefined
  /** Sends one harmless request. Never rejects. */
  probe(signal: AbortSignal): Promise<ProbeResult>
  close(): Promise<void>
}

export interface KindContext {
  readonly clock: Clock
  readonly log: Log
  readonly proxy: ReturnType<typeof proxySettings>
  /** Missing if nothing is sent. */
  readonly openDocument?: OpenDocument
  /** Stores refresh tokens. Missing if no changes are sent: that use logs in on its own and leaves the stored tokens alone. */
  readonly db?: Db
}
