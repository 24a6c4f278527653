import { PermanentError, TransientError } from '../../base/errors.ts'
import type { Call } from './operations.ts'

/**
 * The class of a failed request (trap 51):
 * - `auth`: the service refused the credential, the token (401), or the request (403)
 * - `gone`: the id was not found
 * - `throttled`: too many requests, or another refusal with `Retry-After`
 * - `rejected`: the request was refused for another reason
 * - `unavailable`: the service failed, for example with a 5xx, or the answer was malformed
 * - `oversized`: the answer exceeded the size limit
 * - `network`: no complete answer arrived
 */
export type UpstreamClass = TransientClass | PermanentClass
type TransientClass = 'throttled' | 'unavailable' | 'oversized' | 'network'
type PermanentClass = 'auth' | 'gone' | 'rejected'

/** The request may succeed later. If `retryAfterMs` is set, wait at least this long. */
export class UpstreamTransientError extends TransientError {
  readonly class: TransientClass
  constructor(kind: TransientClass, call: Call, what: string, retryAfterMs?: number) {
    super(sentence(call, what), { retryAfterMs })
    this.class = kind
  }
}

export class UpstreamPermanentError extends PermanentError {
  readonly class: PermanentClass
  /** The reason, without the request. */
  readonly what: string
  /** Whether the class is `rejected` and the request had a cursor. The cursor may be the cause (trap 17). */
  readonly rejectedWithCursor: boolean
  constructor(kind: PermanentClass, call: Call, what: string) {
    super(sentence(call, what))
    this.class = kind
    this.what = what
    this.rejectedWithCursor = kind === 'rejected' && call.withCursor
  }
}

/** Every credential of the account was refused. The account must be suspended (trap 43). */
export class AuthRefusedError extends UpstreamPermanentError {}

/** 401: the service refused the token. */
export class TokenNotTakenError extends UpstreamPermanentError {}

/**
 * True if the service refused only this request, for example with 403. False if the service refused the token (401) or
 * every credential.
 */
export function isForbidden(error: unknown): boolean {
  const isOfToken = error instanceof AuthRefusedError || error instanceof TokenNotTakenError
  return upstreamClass(error) === 'auth' && !isOfToken
}

export function upstreamClass(error: unknown): UpstreamClass | null {
  return error instanceof UpstreamTransientError || error instanceof UpstreamPermanentError ? error.class : null
}

function sentence(call: Call, what: string): string {
  const own = call.ownId === undefined ? '' : ` ${call.ownId}`
  return `${call.operation}${own}${call.submissionId === null ? '' : ` of submission ${call.submissionId}`}: ${what}`
}
