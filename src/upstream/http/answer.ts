import { withoutQueryValues } from '../../base/secret.ts'
import { retryAfterMs as askedWaitMs, httpDateMs } from '../../base/service-http.ts'
import { parseExact } from '../../model/exact-json.ts'
import { isObject } from '../../model/json.ts'
import { parseUuid } from '../../model/uuid.ts'
import { TokenNotTakenError, UpstreamPermanentError, UpstreamTransientError } from './errors.ts'
import type { Call } from './operations.ts'

/**
 * A received answer. `body` is null if `Parts.take` received the body. Also null if the answer is a failure and its
 * body couldn't be read.
 */
export interface HttpAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string | null
}

/** `Retry-After` is capped at one hour. */
const LONGEST_PAUSE_MS = 3_600_000

/**
 * Classifies an answer. Only 401, 403, 404, 408, 429, and 5xx have their usual HTTP meaning (traps 50, 51, 52).
 * @param nowMs our time, used if `Retry-After` is a date and the answer has no `Date`.
 * @returns the error to throw; null for 2xx.
 */
export function failureOf(call: Call, answer: HttpAnswer, nowMs: number): UpstreamTransientError | UpstreamPermanentError | null {
  const { status, headers } = answer
  if (status >= 200 && status < 300) return null
  const pauseMs = retryAfterMs(headers, nowMs)
  const detail = shortDetail(answer.body)
  const what = `the service answered ${status}${detail === '' ? '' : ` (${detail})`}`
  if (status === 401) return new TokenNotTakenError('auth', call, what)
  // If the request had a cursor, a 404 may mean that the cursor is unknown, instead of the id (trap 17).
  if (status === 404) return new UpstreamPermanentError(call.withCursor ? 'rejected' : 'gone', call, what)
  if (status === 429) return new UpstreamTransientError('throttled', call, what, pauseMs)
  if (status < 400) return new UpstreamTransientError('unavailable', call, `${what}; redirects are not followed`, pauseMs)
  if (status === 408 || status >= 500) return new UpstreamTransientError('unavailable', call, what, pauseMs)
  // The specification defines no status for `busy`. An answer with Retry-After asks for a retry (trap 50).
  if (pauseMs !== undefined) return new UpstreamTransientError('throttled', call, what, pauseMs)
  // The specification defines no status for `unauthenticated`, `inactive`, or a missing scope. So an answer with 403 or
  // a `WWW-Authenticate` header gets the class `auth`.
  return new UpstreamPermanentError(status === 403 || headers['www-authenticate'] !== undefined ? 'auth' : 'rejected', call, what)
}

/**
 * @returns the wait that `Retry-After` requests, in ms, at most one hour. Undefined if the header is
 * missing or malformed.
 */
export function retryAfterMs(headers: HttpAnswer['headers'], nowMs: number): number | undefined {
  const waitMs = askedWaitMs(first(headers['retry-after']), first(headers['date']), nowMs)
  return waitMs === null ? undefined : Math.min(waitMs, LONGEST_PAUSE_MS)
}

/** `Date` is truncated to seconds, which loses half a second on average. */
const HALF_SECOND_MS = 500

/**
 * Estimates the service's clock minus ours from an answer's `Date` header. The result is in ms, accurate to about a
 * second. Assumes that the answer was sent halfway between request and arrival.
 * @param sentAt, nowMs our time before the request and after the answer.
 * @returns undefined if the date is missing or malformed.
 */
export function clockSkewMs(headers: HttpAnswer['headers'], sentAt: number, nowMs: number): number | undefined {
  const date = httpDateMs(first(headers['date']) ?? '')
  return Number.isNaN(date) ? undefined : date + HALF_SECOND_MS - (sentAt + nowMs) / 2
}

function first(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header
}

const DETAIL_LENGTH = 120

/**
 * @returns the part of an error body that is safe to log: a code or a short text. Empty if there is none.
 * `detail` may have any shape, and the body may not be JSON (trap 52). For validation errors, returns the names of
 * fields and the types of errors, but no values.
 */
export function shortDetail(body: string | null): string {
  const parsed = parseJson(body)
  if (!isObject(parsed)) return ''
  const text = [parsed['detail'], parsed['error'], parsed['code'], parsed['message']].map(detailText).find((found) => found !== '') ?? ''
  const safe = withoutSecretWords(text)
  return safe.length > DETAIL_LENGTH ? `${safe.slice(0, DETAIL_LENGTH)}…` : safe
}

/** @returns a text of another system in one line. Masks words and URL values that may be secrets. */
export function withoutSecretWords(text: string): string {
  return withoutQueryValues(text).replace(/\s+/g, ' ').split(' ').map(masked).join(' ').trim().toWellFormed()
}

export function parseJson(body: string | null): unknown {
  try {
    return body === null ? undefined : parseExact(body)
  } catch {
    return undefined
  }
}

function detailText(detail: unknown): string {
  if (typeof detail === 'string') return detail
  if (Array.isArray(detail)) return detail.slice(0, 3).map(validationError).filter(Boolean).join('; ')
  if (!isObject(detail)) return ''
  return [detail['code'], detail['type'], detail['message']].find((value) => typeof value === 'string') ?? ''
}

function validationError(item: unknown): string {
  if (!isObject(item)) return typeof item === 'string' ? item : ''
  const place = Array.isArray(item['loc'])
    ? item['loc'].filter((step) => typeof step === 'string' || typeof step === 'number').join('.')
    : ''
  return [place, item['type']].filter((part) => typeof part === 'string' && part !== '').join(' ')
}

/** Masks a word that may be a token, a secret, or a tax id. Keeps UUIDs and codes. */
function masked(word: string): string {
  if (parseUuid(word) !== null) return word
  const random = word.length > 40 || (word.length >= 16 && /\d/.test(word))
  return random || /bas_|\d{3}-?\d{2}-?\d{4}|\d{2}-\d{7}/.test(word) ? '[…]' : word
}
