import type { Clock } from '../../base/clock.ts'
import { ProductError } from '../../base/errors.ts'
import { msFromTime, type TimeText } from '../../model/time.ts'
import { shortDetail } from '../../upstream/http/answer.ts'
import type { TransportResult } from '../transport/transport.ts'
import type { Outcome } from './delivery.ts'
import type { RemoteId } from './remote-id.ts'

export type Answer = Extract<TransportResult, { type: 'answer' }> & {
  /** Why it is no success, as the destination's `error` found it; left out: its text is searched. */
  readonly reason?: string
}
/** Outcome of a request that was not answered with a success, or was not sent. */
export type Failure = Exclude<Outcome, { type: 'delivered' | 'record_taken' | 'not_attempted' | 'split' }>

/** The target has the message. */
export type Delivered = Extract<Outcome, { type: 'delivered' }>

/** A step failed. It carries the outcome of the delivery. */
export class StepFailure extends ProductError {
  readonly failure: Failure
  constructor(failure: Failure) {
    super(failure.error)
    this.failure = failure
  }
}

/** Longest answer that is searched for a reason: searching blocks the event loop. */
const REASON_LENGTH = 256 * 1024

/** Answers of a gateway whose server may have taken the request. */
const GATEWAY = new Set([502, 504, 524])

/** @returns the outcome of an attempt that never reached the target, for a reason of our own. */
export function localFailure(error: string, permanent: boolean): Extract<Failure, { type: 'failed' }> {
  return { type: 'failed', permanent, alive: null, status: null, error, retryAfterMs: null }
}

/** @returns an unknown outcome as a failure, where a second attempt does no harm. */
export function repeatable(outcome: Extract<Outcome, { type: 'unknown' }>): Extract<Failure, { type: 'failed' }> {
  const { error, status = null, retryAfterMs = null } = outcome
  return { ...localFailure(error, false), alive: false, status, retryAfterMs }
}

/** @returns the outcome of a message that the target has. @param detail a remark; that of the id is added. */
export function taken(status: number | null, { id, remark }: RemoteId, detail: string | null): Delivered {
  const remarks = [detail, remark].filter((part) => part !== null)
  return { type: 'delivered', status, remoteId: id, detail: remarks.length === 0 ? null : remarks.join('; ') }
}

/** Statuses that concern the message: the endpoint may accept the next one. */
const ABOUT_MESSAGE = new Set([400, 409, 413, 415, 422])
/** 4xx statuses that mean "try again". */
const PASSING = new Set([408, 425, 429])

/** @returns the outcome of a request without an answer. An address that the settings don't allow is refused for every message. */
export function unanswered(result: Exclude<TransportResult, { type: 'answer' }>): Failure {
  if (result.type === 'no_answer') return { type: 'unknown', error: result.error }
  if (result.permanent) return { type: 'suspend', retry: 'soon', status: null, error: result.error }
  return { type: 'failed', permanent: false, alive: false, status: null, error: result.error, retryAfterMs: null }
}

/** @returns the outcome of an answer by which the endpoint refuses every message. */
export function suspended(answer: Answer): Extract<Failure, { type: 'suspend' }> {
  const { status, retryAfterMs } = answer
  const who = status === 410 ? 'the endpoint is gone: it' : 'the endpoint'
  return { type: 'suspend', retry: status === 410 ? 'manually' : 'soon', status, error: `${who} ${answered(answer)}`, retryAfterMs }
}

/** Whether a status concerns the endpoint: a redirect, or a 4xx that neither concerns the message nor passes. */
export function isAboutEndpoint(status: number): boolean {
  return status >= 300 && status < 500 && !ABOUT_MESSAGE.has(status) && !PASSING.has(status)
}

/** The failure of a message. Rejections of the message are permanent; throttling, timeouts, and server errors pass. */
export function refusal(answer: Answer): Extract<Failure, { type: 'failed' }> {
  const { status, retryAfterMs } = answer
  const permanent = isRefusal(status) && retryAfterMs === null
  return { type: 'failed', permanent, alive: !isBroken(status), status, error: answered(answer), retryAfterMs }
}

/** @returns whether the target is broken (5xx), or gave no status at all. */
export function isBroken(status: number | undefined): boolean {
  return status === undefined || status >= 500
}

/** @returns whether a status rejects the message itself. */
export function isRefusal(status: number): boolean {
  return ABOUT_MESSAGE.has(status)
}

/**
 * The outcome of an answer without success, by its status alone.
 * @param isRepeatable a second delivery does no harm. Otherwise a gateway's error is unclear: the message may have been taken.
 */
export function refused(answer: Answer, isRepeatable = false): Failure {
  if (isAboutEndpoint(answer.status)) return suspended(answer)
  const failure = refusal(answer)
  if (isRepeatable || !GATEWAY.has(answer.status)) return failure
  return unclear(answer, `${failure.error}: the system behind the gateway may have taken it`)
}

/** @returns the outcome of an answer that does not tell whether the message was taken. */
export function unclear({ status, retryAfterMs }: Answer, error: string): Extract<Failure, { type: 'unknown' }> {
  return { type: 'unknown', status, error, ...(retryAfterMs !== null && { retryAfterMs }) }
}

/**
 * @returns the outcomes of a batch of so many messages that has one as a whole. A refusal may be about one of them, and would be the end of all:
 * it splits the batch.
 */
export function ofWholeBatch(outcome: Outcome, count: number): Outcome[] {
  const isSplit = count > 1 && outcome.type === 'failed' && outcome.permanent
  return Array<Outcome>(count).fill(isSplit ? { type: 'split', status: outcome.status, error: outcome.error } : outcome)
}

/** @returns the outcome of an answer that means "later". @param pauseMs when it does not say how much later itself, or says at once. */
export function throttled(answer: Answer, pauseMs: number): Extract<Failure, { type: 'throttled' }> {
  const { status, retryAfterMs } = answer
  return {
    type: 'throttled',
    status,
    error: `it ${answered(answer)}, which asks for a pause (throttled)`,
    retryAfterMs: retryAfterMs || pauseMs,
  }
}

/** @returns the pause of all requests that the target asked for, in milliseconds; null when it asked for none. */
export function requestedPauseMs(outcome: Outcome): number | null {
  if (outcome.type === 'suspend' || (outcome.type === 'throttled' && outcome.isOwn)) return null
  return 'retryAfterMs' in outcome ? (outcome.retryAfterMs ?? null) : null
}

/** @returns the answer as a phrase, with as much of its reason as may be repeated. */
export function answered({ status, body, reason }: Answer): string {
  const detail = reason ?? shortDetail(body.length > REASON_LENGTH ? null : body)
  const redirect = status >= 300 && status < 400 ? '; redirects are not followed' : ''
  return `answered ${status}${detail === '' ? '' : ` (${detail})`}${redirect}`
}

/** @returns whether the status is 2xx. */
export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300
}

/** @returns how long until a lookup that finds nothing decides about an attempt at `triedAt`; 0 or less when it does. */
export function lookupWaitMs(lookupAfterMs: number | undefined, triedAt: TimeText, clock: Pick<Clock, 'now'>): number {
  return msFromTime(triedAt) + (lookupAfterMs ?? 0) - clock.now()
}
