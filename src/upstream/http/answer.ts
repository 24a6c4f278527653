import { parseExact } from '../../model/exact-json.ts'
import { isObject } from '../../model/json.ts'
import { parseUuid } from '../../model/uuid.ts'
import { UpstreamPermanentError, UpstreamTransientError } from './errors.ts'
import type { Call } from './operations.ts'

/** What came back: `body` is null when a failed answer's body could not be read whole. */
export interface HttpAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string | null
}

/** Nobody is obeyed for longer than this. */
const LONGEST_PAUSE_MS = 3_600_000

/**
 * Judges an answer by its class; only 401, 403, 404, 408, 429 and 5xx mean by their number what HTTP says they mean
 * (traps 50, 51, 52).
 * @param nowMs our time, for a `Retry-After` that is a date when the answer bears no date of its own.
 * @returns the error to throw, or null when the status is 2xx.
 */
export function failureOf(call: Call, answer: HttpAnswer, nowMs: number): UpstreamTransientError | UpstreamPermanentError | null {
  const { status, headers } = answer
  if (status >= 200 && status < 300) return null
  const pauseMs = retryAfterMs(headers, nowMs)
  const detail = shortDetail(answer.body)
  const what = `the service answered ${status}${detail === '' ? '' : ` (${detail})`}`
  if (status === 401) return new UpstreamPermanentError('auth', call, what)
  if (status === 404) return new UpstreamPermanentError('gone', call, what)
  if (status === 429) return new UpstreamTransientError('throttled', call, what, pauseMs)
  if (status < 400) return new UpstreamTransientError('unavailable', call, `${what}; redirects are not followed`, pauseMs)
  if (status === 408 || status >= 500) return new UpstreamTransientError('unavailable', call, what, pauseMs)
  // No number is given for `busy`: whoever says when to come back has not refused for good (trap 50).
  if (pauseMs !== undefined) return new UpstreamTransientError('throttled', call, what, pauseMs)
  // Nor for `unauthenticated`, `inactive` and a missing scope: a challenge tells them from other refusals, and so does 403, which the
  // specification gives to whoever may not ask at all.
  return new UpstreamPermanentError(status === 403 || headers['www-authenticate'] !== undefined ? 'auth' : 'rejected', call, what)
}

/**
 * Reads `Retry-After`, in seconds or as an HTTP date, which is compared with the answer's own `Date` where there is one,
 * since clocks differ (trap 49).
 * @returns milliseconds from now, between 0 and an hour; undefined when the header is absent or not readable.
 */
export function retryAfterMs(headers: HttpAnswer['headers'], nowMs: number): number | undefined {
  const value = first(headers['retry-after'])?.trim()
  if (!value) return undefined
  const waitMs = /^\d+(?:\.\d+)?$/.test(value) ? Number(value) * 1000 : dateMs(value) - orElse(dateMs(first(headers['date']) ?? ''), nowMs)
  return Number.isNaN(waitMs) ? undefined : Math.min(Math.max(waitMs, 0), LONGEST_PAUSE_MS)
}

/** Between its `Date`, which is cut to the second, and now an answer was on its way for half of the time that the request took. */
const HALF_SECOND_MS = 500

/**
 * How far the service's clock is ahead of ours, by the `Date` of an answer, in milliseconds; negative when it is behind. About a second
 * is the best that can be told.
 * @param sentAt, nowMs our time before the request and after the answer.
 * @returns undefined when the answer bears no date that can be read.
 */
export function clockSkewMs(headers: HttpAnswer['headers'], sentAt: number, nowMs: number): number | undefined {
  const date = dateMs(first(headers['date']) ?? '')
  return Number.isNaN(date) ? undefined : date + HALF_SECOND_MS - (sentAt + nowMs) / 2
}

function first(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header
}

function dateMs(value: string): number {
  return /^[A-Za-z]{3,9},? /.test(value) ? Date.parse(value) : Number.NaN
}

function orElse(value: number, fallback: number): number {
  return Number.isNaN(value) ? fallback : value
}

const DETAIL_LENGTH = 120

/**
 * What may be repeated of an error's body: its code, or a short text. `detail` may be text, a list, an object with a code,
 * or missing, and the body need not be JSON at all (trap 52). Of a list of validation errors the places and kinds are
 * told, never the values.
 */
export function shortDetail(body: string | null): string {
  const parsed = parseJson(body)
  if (!isObject(parsed)) return ''
  const said = [parsed['detail'], parsed['error'], parsed['code']].map(saidBy).find((text) => text !== '') ?? ''
  const safe = withoutSecretWords(said)
  return safe.length > DETAIL_LENGTH ? `${safe.slice(0, DETAIL_LENGTH)}…` : safe
}

/** @returns in one line what another system said, without the words that must not be repeated. */
export function withoutSecretWords(said: string): string {
  return said.replace(/\s+/g, ' ').split(' ').map(masked).join(' ').trim().toWellFormed()
}

/** @returns the JSON value, or undefined when `body` is no JSON. */
export function parseJson(body: string | null): unknown {
  try {
    return body === null ? undefined : parseExact(body)
  } catch {
    return undefined
  }
}

function saidBy(detail: unknown): string {
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

/** A word that could be a token, a secret, or a tax id is not repeated (invariant 12); ids and codes are. */
function masked(word: string): string {
  if (parseUuid(word) !== null) return word
  const random = word.length > 40 || (word.length >= 16 && /\d/.test(word))
  return random || /bas_|\d{3}-?\d{2}-?\d{4}|\d{2}-\d{7}/.test(word) ? '[…]' : word
}
