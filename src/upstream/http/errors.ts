import { PermanentError, TransientError } from '../../base/errors.ts'
import type { Call } from './operations.ts'

/**
 * The class of a failed request, whatever its status (trap 51):
 * `auth` credential or token refused · `gone` no such id for this brokerage · `throttled` too many requests · `rejected` any other refusal ·
 * `unavailable` no useful answer · `oversized` an answer over the size limit · `network` no answer.
 */
export type UpstreamClass = TransientClass | PermanentClass
type TransientClass = 'throttled' | 'unavailable' | 'oversized' | 'network'
type PermanentClass = 'auth' | 'gone' | 'rejected'

/** The request may succeed later, not before `retryAfterMs` when that is set. */
export class UpstreamTransientError extends TransientError {
  readonly class: TransientClass
  constructor(kind: TransientClass, call: Call, what: string, retryAfterMs?: number) {
    super(sentence(call, what), { retryAfterMs })
    this.class = kind
  }
}

/** The same request would be refused again. */
export class UpstreamPermanentError extends PermanentError {
  readonly class: PermanentClass
  /** What went wrong, without the request. */
  readonly what: string
  /** `rejected`, and the request had a cursor, which may be the reason (trap 17). */
  readonly rejectedWithCursor: boolean
  constructor(kind: PermanentClass, call: Call, what: string) {
    super(sentence(call, what))
    this.class = kind
    this.what = what
    this.rejectedWithCursor = kind === 'rejected' && call.withCursor
  }
}

/** Every credential of the account was refused a token. The catcher suspends the account (trap 43). */
export class AuthRefusedError extends UpstreamPermanentError {}

/** 401: the service did not take the token, which says nothing about what was asked. */
export class TokenNotTakenError extends UpstreamPermanentError {}

/** Whether the service refuses what was asked to credentials that it knows. */
export function isForbidden(error: unknown): boolean {
  const isOfToken = error instanceof AuthRefusedError || error instanceof TokenNotTakenError
  return upstreamClass(error) === 'auth' && !isOfToken
}

/** @returns the class of a failed request, or null for any other error. */
export function upstreamClass(error: unknown): UpstreamClass | null {
  return error instanceof UpstreamTransientError || error instanceof UpstreamPermanentError ? error.class : null
}

function sentence(call: Call, what: string): string {
  const own = call.ownId === undefined ? '' : ` ${call.ownId}`
  return `${call.operation}${own}${call.submissionId === null ? '' : ` of submission ${call.submissionId}`}: ${what}`
}
