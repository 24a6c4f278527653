import { PermanentError } from '../../base/errors.ts'
import { withoutSecrets } from '../../base/secret.ts'
import { type Answer, answered, type Failure, localFailure, requestedPauseMs } from '../contract/outcomes.ts'
import type { AnswerBody } from './answer-body.ts'
import type { TemplateInput } from './templates.ts'

/** What expressions about an answer see, beside its body. @param sent the names under which they see what was sent. */
export function seen({ status, headers }: Answer, sent: TemplateInput): TemplateInput {
  return { ...sent, status, headers }
}

/** A shorter token could be part of an id by chance. */
const TOKEN_LENGTH = 16

/** Masks the token that the request had. It is no secret of the settings and may look like an id, so nothing else masks it. */
export function withoutToken(answer: Answer, auth: Readonly<Record<string, string>>): Answer {
  const tokens = Object.values(auth).map((value) => value.replace(/^\S+ /, ''))
  const long = tokens.filter((token) => token.length >= TOKEN_LENGTH)
  return long.length === 0 ? answer : { ...answer, body: withoutSecrets(answer.body, long, '[…]') }
}

export function bodyOf({ body, cut }: Answer): AnswerBody {
  return { text: body, isWhole: cut === null }
}

/** @throws PermanentError when the answer is incomplete. */
export function refuseCut({ cut }: Answer): void {
  if (cut !== null) throw new PermanentError(`its answer ${cut.text}`)
}

/** A 2xx whose body means a failure, as SOAP systems answer. @param by the name of the value that says so. */
export function noSuccess(answer: Answer, by: 'success' | 'ok'): Failure {
  const error = `it ${answered(answer)}, which is no success (${by})`
  return { type: 'failed', permanent: false, alive: true, status: answer.status, error, retryAfterMs: answer.retryAfterMs }
}

/** It answered something that cannot be used. */
export function unreadable(error: string): Failure {
  return { ...localFailure(error, false), alive: true }
}

/** A lookup changes nothing: an unknown outcome is only a failure, and a refusal says nothing about the message. */
export function failedLookup(failure: Failure): Failure {
  const error = 'error' in failure ? `it could not be looked up: ${failure.error}` : ''
  if (failure.type === 'suspend' || failure.type === 'throttled') return { ...failure, error }
  const { alive, status } = failure.type === 'failed' ? failure : { alive: false, status: null }
  return { type: 'failed', permanent: false, alive, status, error, retryAfterMs: requestedPauseMs(failure) }
}
