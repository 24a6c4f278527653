import type { Clock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import type { proxySettings } from '../../config/config.ts'
import type { Row } from '../../model/entity.ts'
import type { TimeText } from '../../model/time.ts'

/** Which client or policy of the AMS a submission belongs to, as operations said. */
export interface Mapping {
  readonly client: string
  readonly policy: string | null
  /** Whatever else a template needs. */
  readonly fields: Readonly<Record<string, string>>
}

/** One change on its way to one destination. Personal columns that the destination did not opt in to are gone already. */
export interface PushItem {
  readonly outboxId: number
  /** The same on every try: the `webhook-id`, `refId`, external id. A UUID. */
  readonly messageId: string
  readonly destination: string
  readonly account: string
  readonly submissionId: string | null
  /** The table's name. */
  readonly entity: string
  /** The key after `account`, as JSON array text. */
  readonly entityId: string
  readonly operation: string
  readonly cause: string
  /** The change's number; of a snapshot, the number of the newest change that it contains. */
  readonly seq: number
  readonly snapshot: boolean
  readonly changedAt: TimeText
  /** The changed columns as they were; null on insert. */
  readonly before: Row | null
  /** The changed columns as they are; all of them on insert. */
  readonly after: Row | null
  /** `after` as JSON, where its text is at hand and nothing was left out of it; else null. */
  readonly afterText: string | null
  /**
   * Of a message, who wrote it, seen from the brokerage: the service's `inbound` is `sent` (trap 73). Null for everything else.
   */
  readonly direction: 'sent' | 'received' | null
  /** Whether the brokerage wrote it itself, so that an AMS does not take it for news. */
  readonly echo: boolean
  /** The submission's row as it is now, without what may not go out; null when there is none, or the kind leaves it. */
  readonly submission: Row | null
  readonly mapping: Mapping | null
  /** What the target called this record when it took it. */
  readonly remoteId: string | null
  /** Tries that have ended, before this one. */
  readonly attempts: number
}

/** What became of one try. */
export type Outcome =
  /** The target has it. */
  | { readonly type: 'delivered'; readonly status: number | null; readonly remoteId: string | null; readonly detail: string | null }
  /**
   * It was not taken. `permanent`: the same request would be refused again. `alive`: the target answered, so it is no outage; null: it was
   * not asked, for a reason that lies with us.
   */
  | {
      readonly type: 'failed'
      readonly permanent: boolean
      readonly alive: boolean | null
      readonly status: number | null
      readonly error: string
      /** The target asks to be left alone, all of it, for so long. */
      readonly retryAfterMs: number | null
    }
  /** The request was sent, and no answer came that says what became of it: it may have been taken. `status`: of an answer that came. */
  | { readonly type: 'unknown'; readonly error: string; readonly status?: number; readonly retryAfterMs?: number }
  /** Of a batch: there was no time left to begin with it. Whatever became of the others says nothing of it. */
  | { readonly type: 'not_attempted' }
  /** No client of the AMS is known for this submission. */
  | { readonly type: 'unmapped'; readonly error: string }
  /** Nothing may be sent any more until an operator resumes: the credential was withdrawn, or the endpoint is gone (410). */
  | { readonly type: 'stop'; readonly state: 'parked' | 'disabled'; readonly status: number | null; readonly error: string }

/** What a harmless try showed. */
export interface ProbeResult {
  readonly ok: boolean
  /** One sentence: what is right, or what is wrong and what to do. */
  readonly text: string
}

/** One way to deliver. It keeps nothing that must survive the process; it never retries, which is its caller's business. */
export interface DeliveryKind {
  /**
   * How many items one call of `send` takes. `one`: a single one. `many`: those of any lanes together, in the order of each lane, up
   * to `maxItems`, after gathering for `gatherMs`.
   */
  readonly batch: { readonly type: 'one' } | { readonly type: 'many'; readonly maxItems: number; readonly gatherMs: number }
  /** It never looks at the submission of an item, which is null then, and is not read for it. */
  readonly leavesSubmission?: true | undefined
  /** Sends, within the destination's `timeoutMs`. One outcome for each item, in their order. Never rejects. */
  send(items: readonly PushItem[], signal: AbortSignal): Promise<readonly Outcome[]>
  /**
   * Asks the target whether it has the message: `delivered` when so, null when it has not, `failed` when it cannot be told now.
   * Left out where there is no way to ask.
   */
  readonly lookUp?: ((item: PushItem, signal: AbortSignal) => Promise<Outcome | null>) | undefined
  /** Finds the client of the AMS that a submission belongs to; null when there is none. Left out where there is no way to ask. */
  readonly findMapping?: ((item: PushItem, signal: AbortSignal) => Promise<Mapping | null>) | undefined
  /** One harmless try. Never rejects. */
  probe(signal: AbortSignal): Promise<ProbeResult>
  close(): Promise<void>
}

/** What every kind gets beside its destination. */
export interface KindContext {
  readonly clock: Clock
  readonly log: Log
  readonly proxy: ReturnType<typeof proxySettings>
}
