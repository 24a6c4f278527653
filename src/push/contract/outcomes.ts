import { shortDetail } from '../../upstream/http/answer.ts'
import type { TransportResult } from '../transport/transport.ts'
import type { Outcome } from './delivery.ts'
import type { RemoteId } from './remote-id.ts'

export type Answer = Extract<TransportResult, { type: 'answer' }>
/** What became of a request that was not answered, or was not even sent. */
export type Failure = Exclude<Outcome, { type: 'delivered' | 'not_attempted' }>

/** In a longer answer no reason is looked for: it would hold up everything else. */
const REASON_LENGTH = 256 * 1024

/** A gateway says these of a server behind it, which may well have taken the request. */
const GATEWAY = new Set([502, 504, 524])

/** @returns the outcome of a try that never reached the target for a reason that lies with us. */
export function localFailure(error: string, permanent: boolean): Extract<Failure, { type: 'failed' }> {
  return { type: 'failed', permanent, alive: null, status: null, error, retryAfterMs: null }
}

/** @returns the outcome of a message that the target has. @param detail a remark, to which that of the id is added. */
export function taken(status: number | null, { id, remark }: RemoteId, detail: string | null): Outcome {
  const remarks = [detail, remark].filter((part) => part !== null)
  return { type: 'delivered', status, remoteId: id, detail: remarks.length === 0 ? null : remarks.join('; ') }
}

/** @returns the outcome of a request to which nothing came back. */
export function unanswered(result: Exclude<TransportResult, { type: 'answer' }>): Failure {
  if (result.type === 'no_answer') return { type: 'unknown', error: result.error }
  return { type: 'failed', permanent: result.permanent, alive: false, status: null, error: result.error, retryAfterMs: null }
}

/**
 * @param answer one that is no success, of a target that may take the message twice.
 * @returns what it means for the message: a refusal is about this one; throttling, timeouts and what a broken server says pass.
 */
export function refusal(answer: Answer): Extract<Failure, { type: 'failed' }> {
  const { status, retryAfterMs } = answer
  const permanent = isRefusal(status) && retryAfterMs === null
  return { type: 'failed', permanent, alive: !isBroken(status), status, error: answered(answer), retryAfterMs }
}

/** @returns whether the target is broken, or gives no status at all. */
export function isBroken(status: number | undefined): boolean {
  return status === undefined || status >= 500
}

/** @returns whether a status is about the message itself: a 4xx, but none that says to come again. */
export function isRefusal(status: number): boolean {
  return status >= 400 && status < 500 && status !== 408 && status !== 425 && status !== 429
}

/** The same where a second delivery does harm: of what a gateway says, nobody knows whether it came to pass. */
export function refused(answer: Answer): Failure {
  const failure = refusal(answer)
  return GATEWAY.has(answer.status) ? unclear(answer, `${failure.error}: the system behind the gateway may have taken it`) : failure
}

/** @returns the outcome of a request whose answer leaves it open whether it was taken. */
export function unclear({ status, retryAfterMs }: Answer, error: string): Extract<Failure, { type: 'unknown' }> {
  return { type: 'unknown', status, error, ...(retryAfterMs !== null && { retryAfterMs }) }
}

/** @returns for how long the target asks to be left alone; null when it does not. */
export function requestedPauseMs(outcome: Outcome): number | null {
  return outcome.type === 'failed' || outcome.type === 'unknown' ? (outcome.retryAfterMs ?? null) : null
}

/** @returns what was answered, with as much of its reason as may be repeated. */
export function answered({ status, body }: Answer): string {
  const detail = shortDetail(body.length > REASON_LENGTH ? null : body)
  const redirect = status >= 300 && status < 400 ? '; redirects are not followed' : ''
  return `answered ${status}${detail === '' ? '' : ` (${detail})`}${redirect}`
}

/** @returns whether the status is 2xx. */
export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300
}
