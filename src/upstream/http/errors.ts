import { PermanentError, TransientError } from '../../base/errors.ts'
import type { Call } from './operations.ts'

/**
 * What a failed request means, whatever its number (trap 51):
 * `auth` the credential or its token is refused · `gone` nothing of that id for this brokerage · `throttled` asked too much
 * · `rejected` any other refusal of the request · `unavailable` the service answered, and not usefully · `oversized` it answered
 * more than is read at once · `network` it did not answer.
 */
export type UpstreamClass = TransientClass | PermanentClass
type TransientClass = 'throttled' | 'unavailable' | 'oversized' | 'network'
type PermanentClass = 'auth' | 'gone' | 'rejected'

/** The request can be tried again, not before `retryAfterMs` when that is given. */
export class UpstreamTransientError extends TransientError {
  readonly class: TransientClass
  constructor(kind: TransientClass, call: Call, what: string, retryAfterMs?: number) {
    super(sentence(call, what), { retryAfterMs })
    this.class = kind
  }
}

/** The same request will be refused again. */
export class UpstreamPermanentError extends PermanentError {
  readonly class: PermanentClass
  /** `rejected`, and the request bore a cursor: the cursor may be what is refused (trap 17). */
  readonly rejectedWithCursor: boolean
  constructor(kind: PermanentClass, call: Call, what: string) {
    super(sentence(call, what))
    this.class = kind
    this.rejectedWithCursor = kind === 'rejected' && call.withCursor
  }
}

/** Every credential of the account was refused a token. Who catches it parks the account (trap 43). */
export class AuthRefusedError extends UpstreamPermanentError {}

/** @returns the class of a failed request, or null when `error` is something else. */
export function upstreamClass(error: unknown): UpstreamClass | null {
  return error instanceof UpstreamTransientError || error instanceof UpstreamPermanentError ? error.class : null
}

function sentence(call: Call, what: string): string {
  return `${call.operation}${call.submissionId === null ? '' : ` of submission ${call.submissionId}`}: ${what}`
}
