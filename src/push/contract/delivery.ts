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
  /** Whatever else a template needs. */
  readonly fields: Readonly<Record<string, string>>
}

/** One change on its way to one destination, without the personal columns that the destination did not opt in to. */
export interface PushItem extends QueuedChange {
  readonly outboxId: number
  readonly destination: string
  readonly snapshot: boolean
  readonly changedAt: TimeText
  /** The changed columns as they were; null on insert. */
  readonly before: Row | null
  /** The changed columns as they are; all of them on insert. */
  readonly after: Row | null
  /** `after` as JSON text, when it is known and nothing was left out; else null. */
  readonly afterText: string | null
  /** Direction of a message from the brokerage's side; null for everything else. */
  readonly direction: 'sent' | 'received' | null
  /** The brokerage wrote the message itself, so it is no news to its AMS. */
  readonly echo: boolean
  /** The submission's current row, without what may not go out; null when there is none, or the kind does not need it. */
  readonly submission: Row | null
  readonly mapping: Mapping | null
  /** With this the record ceases to pass the `filter` of the destination. */
  readonly leftFilter: boolean
  /** The record's id at the target, when the target gave one. */
  readonly remoteId: string | null
  /** Attempts before this one. */
  readonly attempts: number
  /** What earlier attempts achieved; null for nothing. */
  readonly progress: PushProgress | null
}

/** Outcome of one attempt. */
export type Outcome =
  /** The target has it. */
  | { readonly type: 'delivered'; readonly status: number | null; readonly remoteId: string | null; readonly detail: string | null }
  /** The target has the record of a document. The next attempt uploads the document. */
  | { readonly type: 'record_taken'; readonly status: number | null; readonly remoteId: string | null; readonly progress: RecordTaken }
  /**
   * The target did not take it. `permanent`: it would refuse the same request again. `isFinal`: the destination's settings say that no further
   * attempt can help. `alive`: it answered, so there is no outage; null: no request was sent, for a reason of our own.
   */
  | {
      readonly type: 'failed'
      readonly permanent: boolean
      readonly isFinal?: boolean
      readonly alive: boolean | null
      readonly status: number | null
      readonly error: string
      /** The target asked for a pause of all requests (`Retry-After`). */
      readonly retryAfterMs: number | null
    }
  /**
   * The request was sent, and no answer tells whether the target took it. `status`: of an unclear answer. `progress`: what the next attempt
   * continues from.
   */
  | {
      readonly type: 'unknown'
      readonly error: string
      readonly status?: number
      readonly retryAfterMs?: number
      readonly progress?: FilesWritten
    }
  /**
   * The target takes nothing for a while, by the destination's settings. The message was not taken, and the attempt does not count.
   * `isOwn`: this message alone has to wait, the target takes others.
   */
  | {
      readonly type: 'throttled'
      readonly status: number | null
      readonly error: string
      readonly retryAfterMs: number
      readonly isOwn?: true
    }
  /** One of a batch for which there was no time left. The outcomes of the others say nothing about it. */
  | { readonly type: 'not_attempted' }
  /**
   * The batch was refused as a whole, or no request could be made of it, and none of it was taken. Smaller batches tell whose fault it is, so
   * the attempt does not count. `status`: null when no request was sent.
   */
  | { readonly type: 'split'; readonly status: number | null; readonly error: string }
  /** No client of the AMS is known for this submission. */
  | { readonly type: 'unmapped'; readonly error: string }
  /** The endpoint refuses everything, not only this message, which was not taken. The attempt doesn't count. */
  | {
      readonly type: 'suspend'
      readonly retry: SuspensionRetry
      readonly status: number | null
      readonly error: string
      /** The target asked to wait at least this long. */
      readonly retryAfterMs?: number | null
    }

/**
 * When a suspended destination is tried again: `soon` with a growing delay; `slowly` where each attempt could lock the account of a wrong
 * password; `manually` after an operator's resume, because the endpoint is gone (410).
 */
export type SuspensionRetry = 'soon' | 'slowly' | 'manually'

/** Whether a target has a message that it took, as it answers now. */
export type Presence =
  /** `differs`: it has the record, but not as it was sent. */
  | { readonly type: 'has' | 'lacks' | 'differs' }
  /** It gave no answer that tells. */
  | { readonly type: 'cannot_tell'; readonly outcome: Extract<Outcome, { readonly error: string }> }

/** Attempts in a row without a useful answer, after which a destination rests and is tried by single attempts. */
export const FAILURES_TO_OPEN = 5

/** Type of the webhook that a probe sends. Receivers ignore types that they do not know. */
export const TEST_TYPE = 'submission-mirror.test'

/** Result of a harmless request. */
export interface ProbeResult {
  /** null: nothing harmless can be tried. */
  readonly ok: boolean | null
  /** One sentence: what is right, or what is wrong and what to do. */
  readonly text: string
}

/** A request without the headers of its authentication. Names of headers are in lower case. */
export interface BuiltRequest {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
}

/** A request as a preview shows it. */
export interface PreviewedRequest extends BuiltRequest {
  /** The request that follows with the document. */
  readonly upload?: BuiltRequest
}

/** How many items one call of `send` takes. */
export type Batching =
  | { readonly type: 'one' }
  /** Up to `maxItems` of any lanes together, in the order of each lane. */
  | {
      readonly type: 'many'
      readonly maxItems: number
      /** How long items gather before. */
      readonly gatherMs: number
      /**
       * Its items are answered one by one, and only those of the same group go together, at most one of a lane: when the target took the second
       * change of a submission and not the first, the first would come behind it. Left out: all are taken, or none is.
       */
      readonly groupOf?: (item: PushItem) => string
    }

/** A kind of destination: one way to deliver. It keeps nothing that must survive the process, and never retries: its caller does. */
export interface DeliveryKind {
  readonly batch: Batching
  /** It does not need the submission of an item, which is then null and not read. */
  readonly withoutSubmission?: true | undefined
  /** Sends within the destination's `timeoutMs`. Never rejects. @returns one outcome for each item, in their order. */
  send(items: readonly PushItem[], signal: AbortSignal): Promise<readonly Outcome[]>
  /**
   * Looks up whether the target has the message: `delivered` when it has, null when it has not, `failed` when it cannot be told now.
   * Left out where there is no way to look it up.
   */
  readonly lookUp?: ((item: PushItem, signal: AbortSignal) => Promise<Outcome | null>) | undefined
  /** How long after an attempt a lookup or verification that finds nothing decides nothing. Left out: 0. */
  readonly lookupAfterMs?: number | undefined
  /**
   * Asks whether the target has a message that it took before. Never rejects. Left out where the target cannot be asked.
   * @param item bears the record's id at the target, where that is known.
   */
  readonly verify?: ((item: PushItem, signal: AbortSignal) => Promise<Presence>) | undefined
  /** Finds the client of the AMS that a submission belongs to; null when there is none. Left out where there is no way to find it. */
  readonly findMapping?: ((item: PushItem, signal: AbortSignal) => Promise<Mapping | null>) | undefined
  /**
   * Makes the request of an item and sends nothing. Left out where an item has no request of its own.
   * @throws PermanentError when a template fails.
   */
  readonly preview?: ((item: PushItem) => Promise<PreviewedRequest>) | undefined
  /** One harmless request. Never rejects. */
  probe(signal: AbortSignal): Promise<ProbeResult>
  close(): Promise<void>
}

/** What a kind gets beside its destination. */
export interface KindContext {
  readonly clock: Clock
  readonly log: Log
  readonly proxy: ReturnType<typeof proxySettings>
  /** Opens documents. Left out where nothing is sent. */
  readonly openDocument?: OpenDocument
  /** Where refresh tokens are kept. Left out where no changes are sent: such a use logs in by itself, and leaves what is stored alone. */
  readonly db?: Db
}
