import type { Clock } from '../../base/clock.ts'
import { messageOf, ProductError, TransientError } from '../../base/errors.ts'
import { type Json, storableText } from '../../model/json.ts'
import { msFromTime, type TimeText } from '../../model/time.ts'
import { shortDetail } from '../../upstream/http/answer.ts'
import type { TransportResult } from '../transport/transport.ts'
import type { Outcome } from './delivery.ts'

export type Answer = Extract<TransportResult, { type: 'answer' }> & {
  /** Reason found by the destination's `error`. If missing, the body is searched. */
  readonly reason?: string
}
/** Outcome of a request that didn't succeed or wasn't sent. */
export type Failure = Exclude<Outcome, { type: 'delivered' | 'record_taken' | 'not_attempted' | 'split' }>

export type Delivered = Extract<Outcome, { type: 'delivered' }>

/** A failed step, with the delivery's outcome. */
export class StepFailure extends ProductError {
  readonly failure: Failure
  constructor(failure: Failure) {
    super(failure.error)
    this.failure = failure
  }
}

/** Longest answer that is searched for a reason: searching blocks the event loop. */
const REASON_LENGTH = 256 * 1024

/** Statuses from a gateway: the server behind it may have accepted the request. */
const GATEWAY = new Set([502, 504, 524])

/** @returns the outcome of an attempt that didn't reach the target for a local reason. */
export function localFailure(error: string, permanent: boolean): Extract<Failure, { type: 'failed' }> {
  return { type: 'failed', permanent, alive: null, status: null, error, retryAfterMs: null }
}

/** Turns an unknown outcome into a failure, for targets where repeating is harmless. */
export function repeatable(outcome: Extract<Outcome, { type: 'unknown' }>): Extract<Failure, { type: 'failed' }> {
  const { error, status = null, retryAfterMs = null } = outcome
  return { ...localFailure(error, false), alive: false, status, retryAfterMs }
}

/** @returns the outcome of a message that the target has. Appends the id's remark to `detail`. */
export function taken(status: number | null, { id, remark }: RemoteId, detail: string | null): Delivered {
  const remarks = [detail, remark].filter((part) => part !== null)
  return { type: 'delivered', status, remoteId: id, detail: remarks.length === 0 ? null : remarks.join('; ') }
}

/** Statuses about one message: the endpoint may accept others. */
const ABOUT_MESSAGE = new Set([400, 409, 413, 415, 422])
/** 4xx statuses that mean "try again". */
const PASSING = new Set([408, 425, 429])

/** @returns the outcome of a request without an answer. A forbidden address suspends the destination. */
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

/** A redirect, or a 4xx that is neither about the message nor temporary. */
export function isAboutEndpoint(status: number): boolean {
  return status >= 300 && status < 500 && !ABOUT_MESSAGE.has(status) && !PASSING.has(status)
}

/** A rejected message is a permanent failure; throttling, timeouts and server errors are temporary. */
export function refusal(answer: Answer): Extract<Failure, { type: 'failed' }> {
  const { status, retryAfterMs } = answer
  const permanent = isRefusal(status) && retryAfterMs === null
  return { type: 'failed', permanent, alive: !isBroken(status), status, error: answered(answer), retryAfterMs }
}

/** 5xx, or no status at all. */
export function isBroken(status: number | undefined): boolean {
  return status === undefined || status >= 500
}

export function isRefusal(status: number): boolean {
  return ABOUT_MESSAGE.has(status)
}

/**
 * @returns an outcome by status alone, for an answer without success. @param isRepeatable repeating is harmless. Otherwise a gateway's
 * error is unclear: the message may have been accepted.
 */
export function refused(answer: Answer, isRepeatable = false): Failure {
  if (isAboutEndpoint(answer.status)) return suspended(answer)
  const failure = refusal(answer)
  if (isRepeatable || !GATEWAY.has(answer.status)) return failure
  return unclear(answer, `${failure.error}: the system behind the gateway may have taken it`)
}

/** @returns the outcome of an answer that doesn't show whether the message was accepted. */
export function unclear({ status, retryAfterMs }: Answer, error: string): Extract<Failure, { type: 'unknown' }> {
  return { type: 'unknown', status, error, ...(retryAfterMs !== null && { retryAfterMs }) }
}

/**
 * @returns one outcome for each of `count` messages after one answer for the whole batch. A rejection splits the batch, because one message
 * may be at fault.
 */
export function ofWholeBatch(outcome: Outcome, count: number): Outcome[] {
  const isSplit = count > 1 && outcome.type === 'failed' && outcome.permanent
  return Array<Outcome>(count).fill(isSplit ? { type: 'split', status: outcome.status, error: outcome.error } : outcome)
}

/** @returns the outcome of an answer that means "later". @param pauseMs used if the answer gives no pause, or 0. */
export function throttled(answer: Answer, pauseMs: number): Extract<Failure, { type: 'throttled' }> {
  const { status, retryAfterMs } = answer
  return {
    type: 'throttled',
    status,
    error: `it ${answered(answer)}, which asks for a pause (throttled)`,
    retryAfterMs: retryAfterMs || pauseMs,
  }
}

/** @returns the pause in ms that the target requested for all requests; null if none. */
export function requestedPauseMs(outcome: Outcome): number | null {
  if (outcome.type === 'suspend' || (outcome.type === 'throttled' && outcome.isOwn)) return null
  return 'retryAfterMs' in outcome ? (outcome.retryAfterMs ?? null) : null
}

/** @returns the answer as a phrase with a printable reason. */
export function answered({ status, body, reason }: Answer): string {
  const detail = reason ?? shortDetail(body.length > REASON_LENGTH ? null : body)
  const redirect = status >= 300 && status < 400 ? '; redirects are not followed' : ''
  return `answered ${status}${detail === '' ? '' : ` (${detail})`}${redirect}`
}

export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300
}

/** @returns ms until a lookup that finds nothing is conclusive for an attempt at `triedAt`; at most 0 if it is. */
export function lookupWaitMs(lookupAfterMs: number | undefined, triedAt: TimeText, clock: Pick<Clock, 'now'>): number {
  return msFromTime(triedAt) + (lookupAfterMs ?? 0) - clock.now()
}

/**
 * @returns the delivery's outcome after a failed step that changes nothing at the target. The change wasn't accepted, and a rejected step
 * doesn't reject the change.
 */
export function withoutEffect(failure: Failure): Failure {
  if (failure.type === 'suspend' || failure.type === 'throttled' || (failure.type === 'failed' && !failure.permanent)) return failure
  const { alive, status } = failure.type === 'failed' ? failure : { alive: false, status: null }
  return { type: 'failed', permanent: false, alive, status, error: failure.error, retryAfterMs: requestedPauseMs(failure) }
}

/** @returns the outcome after a target lookup threw `error`. */
export function lookupFailure(error: unknown): Failure {
  if (error instanceof StepFailure) return withoutEffect(error.failure)
  const retryAfterMs = error instanceof TransientError ? (error.retryAfterMs ?? null) : null
  return { ...localFailure(messageOf(error), false), alive: false, retryAfterMs }
}

/** A record's id at the target, or a remark on why the id isn't stored. Both null: no id was given. */
export interface RemoteId {
  readonly id: string | null
  readonly remark: string | null
}

const MAX_LENGTH = 512
const NONE: RemoteId = { id: null, remark: null }

/** Stores only complete ids: a cut id or a rounded number could be another record's id. @param value the id, if it is text or a number. */
export function remoteIdOf(value: Json): RemoteId {
  if (typeof value === 'number')
    return Number.isInteger(value) && !Number.isSafeInteger(value) ? none('it is a number that was rounded') : kept(String(value))
  return typeof value === 'string' && value !== '' ? kept(value) : NONE
}

/** @param why short phrase. */
export function none(why: string): RemoteId {
  return { id: null, remark: `no id is kept: ${why}` }
}

function kept(id: string): RemoteId {
  if (id.length > MAX_LENGTH) return none(`it is longer than ${MAX_LENGTH} characters`)
  return storableText(id) === id ? { id, remark: null } : none('it holds characters that cannot be stored')
}
