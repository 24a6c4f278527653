import { isObject } from '../model/json.ts'
import { parseUuid } from '../model/uuid.ts'
import { type HttpAnswer, parseJson } from './http/answer.ts'
import { UpstreamTransientError } from './http/errors.ts'
import type { Call } from './http/operations.ts'
import { type FeedPage, type Identity, readIdentity, readPage } from './wire/answers.ts'

/** Readers of successful answers (2xx). All throw UpstreamTransientError if the body doesn't fit the operation. */

/** The answer for a path from the settings. */
export interface ProbeAnswer {
  readonly text: string
  readonly json: unknown
}

/** @returns the JSON of an answer: an object, or a list for sessions. */
export function bodyOf(call: Call, answer: HttpAnswer): unknown {
  const body = parseJson(answer.body)
  // The specification doesn't define whether sessions are a list or an object.
  if (call.operation === 'sessions' && Array.isArray(body)) return body
  if (!isObject(body)) throw misshapen(call, 'is not a JSON object')
  return body
}

export function anyJson(call: Call, answer: HttpAnswer): ProbeAnswer {
  const json = parseJson(answer.body)
  if (answer.body === null || json === undefined) throw misshapen(call, 'is not JSON')
  return { text: answer.body, json }
}

export function pageIn(call: Call, body: unknown): FeedPage<unknown> {
  const page = readPage(body, call.operation === 'events' ? 'events' : 'messages')
  if (page === null) throw misshapen(call, 'is not a page of a feed')
  return page
}

export function identityIn(call: Call, body: unknown): Identity {
  const identity = readIdentity(body)
  if (identity === null) throw misshapen(call, 'has no kind or no brokerage')
  return identity
}

export function viewIn(call: Call, body: unknown): unknown {
  const about = isObject(body) ? parseUuid(body['submission_id']) : null
  if (about !== null && call.submissionId !== null && about !== call.submissionId) throw misshapen(call, 'is about another submission')
  return body
}

/** A malformed successful answer is a temporary fault of the service or of a proxy. */
export function misshapen(call: Call, what: string): UpstreamTransientError {
  return new UpstreamTransientError('unavailable', call, `the answer ${what}`)
}
