import type { Clock } from '../../base/clock.ts'
import { retryAfterMs } from '../../base/service-http.ts'
import { isObject } from '../../model/json.ts'
import { type ErrorAnswer, Unreachable } from '../errors.ts'

export type Fetch = typeof fetch

export type ClientClock = Pick<Clock, 'now' | 'sleep'>

export interface Wire {
  readonly baseUrl: string
  readonly fetch: Fetch
  readonly clock: ClientClock
  /** Time limit in ms for the start of an answer, and again for its body. */
  readonly timeoutMs: number
}

/** Maximum size of an answer in bytes. Documents have no limit. */
const LARGEST_BODY = 64 * 1024 * 1024

/** Error codes which mean that the request was surely not sent. */
const NOT_SENT = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT'])

/** Error message of Node's `fetch` for ports that it blocks, such as 6000. */
const BLOCKED = 'bad port'

/**
 * Sends one request. Doesn't follow redirects (trap 45).
 * @param what the request's name in messages.
 * @throws Unreachable. If `signal` aborts, throws the signal's reason instead.
 */
export async function sendOnce(wire: Wire, what: string, url: string, init: RequestInit, signal?: AbortSignal): Promise<Response> {
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(new Error(`no answer within ${wire.timeoutMs} ms`)), wire.timeoutMs)
  const signals = signal ? AbortSignal.any([signal, late.signal]) : late.signal
  // In a browser, `wire.fetch()` would fail, because `fetch` must not be called as a method.
  const { fetch } = wire
  try {
    return await fetch(url, { ...init, redirect: 'manual', signal: signals })
  } catch (error) {
    signal?.throwIfAborted()
    throw new Unreachable(what, isUnsent(error) ? 'no' : 'maybe', late.signal.aborted ? late.signal.reason : error)
  } finally {
    clearTimeout(timer)
  }
}

function isUnsent(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined
  const causes = cause instanceof AggregateError ? cause.errors : [cause]
  return causes.length > 0 && causes.every((each) => isObject(each) && (NOT_SENT.has(String(each['code'])) || each['message'] === BLOCKED))
}

/**
 * Reads the body of an answer as text.
 * @throws Unreachable if the body breaks off, takes longer than `timeoutMs`, or is too large.
 */
export async function bodyText(wire: Wire, what: string, answer: Response): Promise<string> {
  if (answer.body === null) return ''
  const reader = answer.body.getReader()
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    void reader.cancel().catch(() => undefined)
  }, wire.timeoutMs)
  const decoder = new TextDecoder()
  let text = ''
  try {
    for (let bytes = 0; ; ) {
      const { done, value } = await reader.read()
      if (isLate) throw new Error('the answer took too long')
      if (done) return text + decoder.decode()
      bytes += value.byteLength
      if (bytes > LARGEST_BODY) throw new Error('the answer is too large')
      text += decoder.decode(value, { stream: true })
    }
  } catch (error) {
    await reader.cancel().catch(() => undefined)
    throw new Unreachable(what, 'maybe', error)
  } finally {
    clearTimeout(timer)
  }
}

/** @returns the parsed JSON, or the text itself if it isn't JSON (trap 52). */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** @returns `detail` if it is only a code, such as `authorization_pending`; else undefined. */
function codeIn(detail: unknown): string | undefined {
  return typeof detail === 'string' && /^[a-z]+(?:_[a-z]+)+$/.test(detail) ? detail : undefined
}

/** Reads an error answer of any shape. */
export async function errorAnswer(wire: Wire, what: string, answer: Response): Promise<ErrorAnswer> {
  const body = parsed(await bodyText(wire, what, answer).catch(() => ''))
  const top = isObject(body) ? body : {}
  const detail = top['detail']
  const inner = isObject(detail) ? detail : {}
  const code = [top['code'], inner['code'], top['error'], inner['error'], codeIn(detail)].find((value) => typeof value === 'string')
  const askedMs = retryAfterMs(answer.headers.get('retry-after'), answer.headers.get('date'), wire.clock.now())
  return {
    status: answer.status,
    code: code === undefined ? null : String(code),
    detail,
    body,
    retryAfterS: askedMs === null ? null : askedMs / 1000,
  }
}
