import type { Log } from '../base/log.ts'
import type { Observer } from '../base/observer.ts'
import { timeFromMs } from '../model/time.ts'
import type { RejectedStore } from '../store/inbox/rejected.ts'
import type { HeaderValues, SignatureFault } from '../upstream/webhook/signature.ts'
import { type Answer, answers } from './answers.ts'
import type { BadSignatures } from './bad-signatures.ts'

export type RejectReason = SignatureFault | 'unknown_account' | 'body_too_large'

interface RejectedRequest {
  /** Null if the path names no configured account. */
  readonly account: string | null
  readonly path: string
  readonly address: string
  readonly headers: HeaderValues
  /** Time of arrival, in ms since the epoch. */
  readonly receivedAt: number
  /** Null if the body was not read. */
  readonly body: Buffer | null
}

interface RejectionsOptions {
  readonly store: RejectedStore
  readonly badSignatures: BadSignatures
  readonly log: Log
  readonly observer: Observer
}

/** Headers that are stored with a rejected delivery. Other headers are dropped. */
const KEPT_HEADERS = [
  'svix-id',
  'svix-timestamp',
  'svix-signature',
  'webhook-id',
  'webhook-timestamp',
  'webhook-signature',
  'content-type',
  'content-encoding',
  'content-length',
  'user-agent',
]

const MAX_LOGGED_LENGTH = 128

/**
 * Metric label `account` of requests whose path names no configured account. The path itself is never used as a label.
 */
export const NO_ACCOUNT = 'unknown'

/** Counts rejected deliveries. Logs and stores them within the limits of `RejectedStore`. */
export class Rejections {
  readonly #o: RejectionsOptions

  constructor(options: RejectionsOptions) {
    this.#o = options
  }

  /**
   * Records a rejected delivery.
   * @returns the answer to the sender.
   */
  reject(request: RejectedRequest, reason: RejectReason): Answer {
    const { store, log, observer } = this.#o
    const account = request.account ?? NO_ACCOUNT
    observer.count('deliveries_rejected_total', { account, reason })
    const kept = store.keep({
      account: request.account,
      path: request.path,
      receivedAt: timeFromMs(request.receivedAt),
      address: request.address,
      reason,
      headers: only(KEPT_HEADERS, request.headers),
      body: request.body,
    })
    if (kept) {
      const path = request.path.slice(0, MAX_LOGGED_LENGTH)
      const about = { account, reason, address: request.address, path, delivery: deliveryIdOf(request.headers) }
      if (reason === 'body_too_large')
        log.error(about, 'a delivery larger than WEBHOOK_BODY_LIMIT was answered 413. It is lost unless the limit is raised in time')
      else log.warn({ ...about, not_kept: store.passedOver }, `a delivery was rejected: ${reason}`)
    }
    return this.#answer(request, reason)
  }

  #answer(request: RejectedRequest, reason: RejectReason): Answer {
    if (reason === 'unknown_account') return answers.unknown
    if (reason === 'body_too_large') return answers.tooLarge
    if (this.#o.badSignatures.note(request.address, request.receivedAt)) return answers.tooManyBad
    return reason === 'missing_headers' ? answers.unsigned : answers.wronglySigned
  }
}

function only(names: readonly string[], headers: HeaderValues): Record<string, string> {
  const values = names.map((name) => [name, headers[name]] as const)
  return Object.fromEntries(values.filter((entry): entry is [string, string] => typeof entry[1] === 'string'))
}

function deliveryIdOf(headers: HeaderValues): string | undefined {
  const id = headers['svix-id'] ?? headers['webhook-id']
  return typeof id === 'string' ? id.slice(0, MAX_LOGGED_LENGTH) : undefined
}

/**
 * @returns the headers to store with a body: those that verify the signature, `content-type`, and `content-encoding`.
 */
export function storedHeaders(verified: Readonly<Record<string, string>>, headers: HeaderValues): Record<string, string> {
  return { ...verified, ...only(['content-type', 'content-encoding'], headers) }
}
