import type { Clock } from '../../base/clock.ts'
import { messageOf, ProductError, TransientError } from '../../base/errors.ts'
import { type Json, storableText } from '../../model/json.ts'
import { msFromTime, type TimeText } from '../../model/time.ts'
import { shortDetail } from '../../upstream/http/answer.ts'
import type { TransportResult } from '../transport/transport.ts'
import type { Outcome } from './delivery.ts'

export type Answer = Extract<TransportResult, { type: 'answer' }> & {
  /**
   * Reason for a rejection, found by the destination's `error` setting or by the code of the destination's kind. If
   * missing, the body is searched for a reason.
   */
  readonly reason?: string
}
/**
 * Outcome of a message whose delivery isn't confirmed: failed, unknown, throttled, unmapped, or a suspended
 * destination.
 */
export type Failure = Exclude<Outcome, { type: 'delivered' | 'record_taken' | 'not_attempted' | 'split' }>

export type Delivered = Extract<Outcome, { type: 'delivered' }>

/** A step of a delivery failed. `failure` is the outcome of the delivery. */
export class StepFailure extends ProductError {
  readonly failure: Failure
  constructor(failure: Failure) {
    super(failure.error)
    this.failure = failure
  }
}

/** Longest answer that is searched for a reason, in characters. A longer search would block the event loop. */
const REASON_LENGTH = 256 * 1024

/** Statuses that a gateway sends. The server behind the gateway may have accepted the request. */
const GATEWAY = new Set([502, 504, 524])

/** @returns the outcome of an attempt that a local problem prevented. */
export function localFailure(error: string, permanent: boolean): Extract<Failure, { type: 'failed' }> {
  return { type: 'failed', permanent, alive: null, status: null, error, retryAfterMs: null }
}

/** Turns an unknown outcome into a failure that is retried. Use this only if a repeated request is harmless. */
export function repeatable(outcome: Extract<Outcome, { type: 'unknown' }>): Extract<Failure, { type: 'failed' }> {
  const { error, status = null, retryAfterMs = null } = outcome
  return { ...localFailure(error, false), alive: false, status, retryAfterMs }
}

/** @returns the outcome of a message that the target has. Appends the remark about the record's id to `detail`. */
export function taken(status: number | null, { id, remark }: RemoteId, detail: string | null): Delivered {
  const remarks = [detail, remark].filter((part) => part !== null)
  return { type: 'delivered', status, remoteId: id, detail: remarks.length === 0 ? null : remarks.join('; ') }
}

/** Statuses about one message. The endpoint may accept other messages. */
const ABOUT_MESSAGE = new Set([400, 409, 413, 415, 422])
/** 4xx statuses that mean "try again later". */
const PASSING = new Set([408, 425, 429])

/**
 * @returns the outcome if no answer arrived. An error that a retry can't fix, such as a forbidden address, suspends the
 * destination.
 */
export function unanswered(result: Exclude<TransportResult, { type: 'answer' }>): Failure {
  if (result.type === 'no_answer') return { type: 'unknown', error: result.error }
  if (result.permanent) return { type: 'suspend', retry: 'soon', status: null, error: result.error }
  return { ...localFailure(result.error, false), alive: false }
}

/** @returns the outcome of an answer that rejects every message. */
export function suspended(answer: Answer): Extract<Failure, { type: 'suspend' }> {
  const { status, retryAfterMs } = answer
  const who = status === 410 ? 'the endpoint is gone: it' : 'the endpoint'
  return { type: 'suspend', retry: status === 410 ? 'manually' : 'soon', status, error: `${who} ${answered(answer)}`, retryAfterMs }
}

/**
 * @returns whether the status means that the endpoint rejects every message: a redirect, or a 4xx that is neither about
 * the message nor temporary.
 */
export function isAboutEndpoint(status: number): boolean {
  return status >= 300 && status < 500 && !ABOUT_MESSAGE.has(status) && !PASSING.has(status)
}

/**
 * @returns the outcome of an answer that doesn't accept the message. A status about the message, such as 422, is a
 * permanent failure if there is no `Retry-After`. All other failures are temporary.
 */
export function refusal(answer: Answer): Extract<Failure, { type: 'failed' }> {
  const { status, retryAfterMs } = answer
  const permanent = isRefusal(status) && retryAfterMs === null
  return { type: 'failed', permanent, alive: !isBroken(status), status, error: answered(answer), retryAfterMs }
}

/** @returns whether the status is 5xx or missing. */
export function isBroken(status: number | undefined): boolean {
  return status === undefined || status >= 500
}

export function isRefusal(status: number): boolean {
  return ABOUT_MESSAGE.has(status)
}

/**
 * @returns the outcome of an unsuccessful answer, by status alone.
 * @param isRepeatable whether repeating the request is harmless. If false, a gateway's error (502, 504, 524) gives an
 * unknown outcome. The server behind the gateway may have accepted the message.
 */
export function refused(answer: Answer, isRepeatable = false): Failure {
  if (isAboutEndpoint(answer.status)) return suspended(answer)
  const failure = refusal(answer)
  if (isRepeatable || !GATEWAY.has(answer.status)) return failure
  return unclear(answer, `${failure.error}: the system behind the gateway may have accepted the change`)
}

/** @returns the outcome of an answer that doesn't show whether the message was accepted. */
export function unclear({ status, retryAfterMs }: Answer, error: string): Extract<Failure, { type: 'unknown' }> {
  return { type: 'unknown', status, error, ...(retryAfterMs !== null && { retryAfterMs }) }
}

/**
 * @returns one outcome for each of `count` messages that share one answer. A rejected batch is split, because a single
 * message may be at fault.
 */
export function ofWholeBatch(outcome: Outcome, count: number): Outcome[] {
  const isSplit = count > 1 && outcome.type === 'failed' && outcome.permanent
  return Array<Outcome>(count).fill(isSplit ? { type: 'split', status: outcome.status, error: outcome.error } : outcome)
}

/**
 * @returns the outcome of an answer that means "later".
 * @param pauseMs used if the answer requests no pause, or a pause of 0.
 */
export function throttled(answer: Answer, pauseMs: number): Extract<Failure, { type: 'throttled' }> {
  const { status, retryAfterMs } = answer
  return {
    type: 'throttled',
    status,
    error: `${answered(answer)}, which asks for a pause (throttled)`,
    retryAfterMs: retryAfterMs || pauseMs,
  }
}

/**
 * @returns the pause in ms that the target requested for all requests. Null if the target requested no pause, or only a
 * pause of this message (`isOwn`). Also null if the destination is suspended.
 */
export function requestedPauseMs(outcome: Outcome): number | null {
  if (outcome.type === 'suspend' || (outcome.type === 'throttled' && outcome.isOwn)) return null
  return 'retryAfterMs' in outcome ? (outcome.retryAfterMs ?? null) : null
}

/** @returns a phrase about the answer, such as `answered 500 (overloaded)`. */
export function answered({ status, body, reason }: Answer): string {
  const detail = reason ?? shortDetail(body.length > REASON_LENGTH ? null : body)
  const redirect = status >= 300 && status < 400 ? '; redirects are not followed' : ''
  return `answered ${status}${detail === '' ? '' : ` (${detail})`}${redirect}`
}

export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300
}

/**
 * @returns ms until a lookup that finds nothing is conclusive; 0 or less if such a lookup is conclusive now.
 * @param triedAt time of the attempt.
 */
export function lookupWaitMs(lookupAfterMs: number | undefined, triedAt: TimeText, clock: Pick<Clock, 'now'>): number {
  return msFromTime(triedAt) + (lookupAfterMs ?? 0) - clock.now()
}

/**
 * @returns the delivery's outcome after a failed step that changes nothing at the target, such as a lookup. The step's
 * permanent failure or unknown outcome becomes a temporary failure, so the change is retried.
 */
export function withoutEffect(failure: Failure): Failure {
  if (failure.type === 'suspend' || failure.type === 'throttled' || (failure.type === 'failed' && !failure.permanent)) return failure
  const { alive, status } = failure.type === 'failed' ? failure : { alive: false, status: null }
  return { type: 'failed', permanent: false, alive, status, error: failure.error, retryAfterMs: requestedPauseMs(failure) }
}

/** @returns the outcome if a lookup at the target threw `error`. */
export function lookupFailure(error: unknown): Failure {
  if (error instanceof StepFailure) return withoutEffect(error.failure)
  const retryAfterMs = error instanceof TransientError ? (error.retryAfterMs ?? null) : null
  return { ...localFailure(messageOf(error), false), alive: false, retryAfterMs }
}

/** A record's id at the target, or a remark on why no id is stored. Both are null if the target gave no id. */
export interface RemoteId {
  readonly id: string | null
  readonly remark: string | null
}

const MAX_LENGTH = 512
const NONE: RemoteId = { id: null, remark: null }

/**
 * @returns the record's id at the target, or a remark on why no id is kept. Only complete ids are kept, because a cut
 * id or a rounded number could be another record's id.
 * @param value the id in the target's answer, a text or a number. Any other value gives no id.
 */
export function remoteIdOf(value: Json): RemoteId {
  if (typeof value === 'number')
    return Number.isInteger(value) && !Number.isSafeInteger(value) ? none('it is a rounded number') : kept(String(value))
  return typeof value === 'string' && value !== '' ? kept(value) : NONE
}

/** @returns no id, and a remark with the reason `why`, such as `it is too long`. */
export function none(why: string): RemoteId {
  return { id: null, remark: `the id of the record was not stored, because ${why}` }
}

function kept(id: string): RemoteId {
  if (id.length > MAX_LENGTH) return none(`it is longer than ${MAX_LENGTH} characters`)
  return storableText(id) === id ? { id, remark: null } : none('it contains characters that cannot be stored')
}
