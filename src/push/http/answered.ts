import { PermanentError } from '../../base/errors.ts'
import { withoutSecrets } from '../../base/secret.ts'
import { type Answer, answered, type Failure, localFailure, withoutEffect } from '../contract/outcomes.ts'
import type { AnswerBody } from './answer-body.ts'
import type { TemplateInput } from './templates.ts'

/**
 * @returns the input of expressions about an answer, without `body`.
 * @param sent input of the request's expressions.
 */
export function seen({ status, headers }: Answer, sent: TemplateInput): TemplateInput {
  return { ...sent, status, headers }
}

/** Shorter tokens aren't masked, because they could be part of an id by chance. */
const TOKEN_LENGTH = 16

/**
 * Masks the request's token in the answer. Other masking misses this token, because the token isn't in the settings and
 * may look like an id.
 */
export function withoutToken(answer: Answer, auth: Readonly<Record<string, string>>): Answer {
  const tokens = Object.values(auth).map((value) => value.replace(/^\S+ /, ''))
  const long = tokens.filter((token) => token.length >= TOKEN_LENGTH)
  return long.length === 0 ? answer : { ...answer, body: withoutSecrets(answer.body, long, '[…]') }
}

export function bodyOf({ body, cut }: Answer): AnswerBody {
  return { text: body, isWhole: cut === null }
}

/** @throws PermanentError if the answer is incomplete. */
export function refuseCut({ cut }: Answer): void {
  if (cut !== null) throw new PermanentError(`the answer ${cut.text}`)
}

/**
 * @returns the outcome of a 2xx answer that isn't a success. Some systems report a failure only in the body.
 * @param by name of the expression that decides about success.
 */
export function noSuccess(answer: Answer, by: 'success' | 'ok'): Failure {
  const error = `${answered(answer)}, which does not count as success (${by})`
  return { type: 'failed', permanent: false, alive: true, status: answer.status, error, retryAfterMs: answer.retryAfterMs }
}

export function unreadable(error: string): Failure {
  return { ...localFailure(error, false), alive: true }
}

export function failedLookup(failure: Failure): Failure {
  return { ...withoutEffect(failure), error: `the lookup failed: ${failure.error}` }
}
