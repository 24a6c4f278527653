import { PermanentError, TransientError } from '../../base/errors.ts'
import type { Call } from './operations.ts'

/**
 * The class of a failed request (trap 51): `auth` credential or token refused · `gone` id not found · `throttled` too many requests ·
 * `rejected` other refusals · `unavailable` no useful answer · `oversized` answer over the size limit · `network` no answer.
 */
export type UpstreamClass = TransientClass | PermanentClass
type TransientClass = 'throttled' | 'unavailable' | 'oversized' | 'network'
type PermanentClass = 'auth' | 'gone' | 'rejected'

/** The request may succeed later, after `retryAfterMs` if set. */
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
  /** `rejected`, perhaps because of the cursor (trap 17). */
  readonly rejectedWithCursor: boolean
  constructor(kind: PermanentClass, call: Call, what: string) {
    super(sentence(call, what))
    this.class = kind
    this.what = what
    this.rejectedWithCursor = kind === 'rejected' && call.withCursor
  }
}

/** Every credential of the account was refused. The catcher suspends the account (trap 43). */
export class AuthRefusedError extends UpstreamPermanentError {}

/** 401: the token was refused, not the request. */
export class TokenNotTakenError extends UpstreamPermanentError {}

/** Whether the service refuses the request, but not the credentials. */
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
