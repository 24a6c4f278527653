import { withoutQueryValues } from '../../base/secret.ts'
import { retryAfterMs as askedWaitMs, httpDateMs } from '../../base/service-http.ts'
import { parseExact } from '../../model/exact-json.ts'
import { isObject } from '../../model/json.ts'
import { parseUuid } from '../../model/uuid.ts'
import { TokenNotTakenError, UpstreamPermanentError, UpstreamTransientError } from './errors.ts'
import type { Call } from './operations.ts'

/** A received answer. `body` is null when a failed answer's body could not be read completely. */
export interface HttpAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string | null
}

/** `Retry-After` is capped at one hour. */
const LONGEST_PAUSE_MS = 3_600_000

/**
 * Classifies an answer. Only 401, 403, 404, 408, 429 and 5xx are taken by their number as HTTP defines them (traps 50, 51, 52).
 * @param nowMs our time, used for a `Retry-After` date when the answer has no `Date`.
 * @returns the error to throw, or null when the status is 2xx.
 */
export function failureOf(call: Call, answer: HttpAnswer, nowMs: number): UpstreamTransientError | UpstreamPermanentError | null {
  const { status, headers } = answer
  if (status >= 200 && status < 300) return null
  const pauseMs = retryAfterMs(headers, nowMs)
  const detail = shortDetail(answer.body)
  const what = `the service answered ${status}${detail === '' ? '' : ` (${detail})`}`
  if (status === 401) return new TokenNotTakenError('auth', call, what)
  // After a cursor, 404 may mean the cursor: only a request without one says that the id does not exist (trap 17).
  if (status === 404) return new UpstreamPermanentError(call.withCursor ? 'rejected' : 'gone', call, what)
  if (status === 429) return new UpstreamTransientError('throttled', call, what, pauseMs)
  if (status < 400) return new UpstreamTransientError('unavailable', call, `${what}; redirects are not followed`, pauseMs)
  if (status === 408 || status >= 500) return new UpstreamTransientError('unavailable', call, what, pauseMs)
  // The spec gives no status for `busy`. An answer with Retry-After is not a final refusal (trap 50).
  if (pauseMs !== undefined) return new UpstreamTransientError('throttled', call, what, pauseMs)
  // Nor does it for `unauthenticated`, `inactive` and a missing scope. A challenge tells them from other refusals, and so does 403, which the
  // spec uses for callers without access.
  return new UpstreamPermanentError(status === 403 || headers['www-authenticate'] !== undefined ? 'auth' : 'rejected', call, what)
}

/** @returns how long `Retry-After` asks to wait, in milliseconds, at most an hour; undefined when it is absent or unreadable. */
export function retryAfterMs(headers: HttpAnswer['headers'], nowMs: number): number | undefined {
  const waitMs = askedWaitMs(first(headers['retry-after']), first(headers['date']), nowMs)
  return waitMs === null ? undefined : Math.min(waitMs, LONGEST_PAUSE_MS)
}

/** `Date` is cut to the second, so half a second is added on average. */
const HALF_SECOND_MS = 500

/**
 * Estimates from an answer's `Date` how far the service's clock is ahead of ours, in milliseconds, to about a second; negative when behind.
 * The answer is assumed to have been sent halfway between request and arrival.
 * @param sentAt, nowMs our time before the request and after the answer.
 * @returns undefined when the answer has no readable date.
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
 * The part of an error's body that may be logged: its code, or a short text. `detail` may be text, a list, an object with a code, or missing,
 * and the body need not be JSON (trap 52). Of validation errors only places and kinds are returned, never values.
 */
export function shortDetail(body: string | null): string {
  const parsed = parseJson(body)
  if (!isObject(parsed)) return ''
  const text = [parsed['detail'], parsed['error'], parsed['code'], parsed['message']].map(detailText).find((found) => found !== '') ?? ''
  const safe = withoutSecretWords(text)
  return safe.length > DETAIL_LENGTH ? `${safe.slice(0, DETAIL_LENGTH)}…` : safe
}

/** @returns text of another system in one line, with words and values of URLs masked that could be secrets. */
export function withoutSecretWords(text: string): string {
  return withoutQueryValues(text).replace(/\s+/g, ' ').split(' ').map(masked).join(' ').trim().toWellFormed()
}

/** @returns the JSON value, or undefined when `body` is not JSON. */
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

/** Masks words that could be a token, a secret or a tax id (invariant 12), but not uuids and codes. */
function masked(word: string): string {
  if (parseUuid(word) !== null) return word
  const random = word.length > 40 || (word.length >= 16 && /\d/.test(word))
  return random || /bas_|\d{3}-?\d{2}-?\d{4}|\d{2}-\d{7}/.test(word) ? '[…]' : word
}
