import { shortDetail } from '../../upstream/answer.ts'
import type { Outcome } from '../delivery.ts'
import type { TransportResult } from '../transport.ts'

export type Answer = Extract<TransportResult, { type: 'answer' }>
/** What became of a request that was not answered, or was not even sent. */
export type Failure = Exclude<Outcome, { type: 'delivered' }>

/** A gateway says these of a server behind it, which may well have taken the request. */
const GATEWAY = new Set([502, 504, 524])

/** @returns the outcome of a try that never reached the target for a reason that lies with us. */
export function notTried(error: string, permanent: boolean): Failure {
  return { type: 'failed', permanent, alive: true, status: null, error, retryAfterMs: null }
}

/** @returns the outcome of a request to which nothing came back. */
export function unanswered(result: Exclude<TransportResult, { type: 'answer' }>): Failure {
  if (result.type === 'no_answer') return { type: 'unknown', error: result.error }
  return { type: 'failed', permanent: result.permanent, alive: false, status: null, error: result.error, retryAfterMs: null }
}

/**
 * @param answer one that is no success.
 * @returns what it means for the message: a refusal is about this one; throttling, timeouts and what a broken server says pass.
 */
export function refused(answer: Answer): Failure {
  const { status, retryAfterMs } = answer
  const error = answered(answer)
  if (GATEWAY.has(status)) return { type: 'unknown', error: `${error}: the system behind the gateway may have taken it` }
  const permanent = status >= 300 && status < 500 && status !== 408 && status !== 425 && status !== 429 && retryAfterMs === null
  return { type: 'failed', permanent, alive: status < 500, status, error, retryAfterMs }
}

/** @returns what was answered, with as much of its reason as may be repeated. */
export function answered({ status, body }: Answer): string {
  const detail = shortDetail(body)
  const redirect = status >= 300 && status < 400 ? '; redirects are not followed' : ''
  return `answered ${status}${detail === '' ? '' : ` (${detail})`}${redirect}`
}

/** @returns whether the status is 2xx. */
export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300
}
