import type { z } from 'zod'
import type { ConditionName } from '../../client/openapi/conditions.ts'

/** A refused request. The answer is `{"detail": …}` with the status of `condition`. */
export class Refusal extends Error {
  readonly condition: ConditionName
  /** A text, a list of validation errors, or an object with a `code`. */
  readonly detail: unknown
  readonly headers: Readonly<Record<string, string>>

  constructor(condition: ConditionName, detail: unknown, headers: Readonly<Record<string, string>> = {}) {
    super(typeof detail === 'string' ? detail : `refused: ${condition}`)
    this.condition = condition
    this.detail = detail
    this.headers = headers
  }
}

/**
 * @returns the parsed body.
 * @throws Refusal if the body doesn't match `schema`. The refusal lists the problems, each with `loc`, `msg`, and
 * `type`.
 */
export function parseBody<T extends z.ZodType>(schema: T, body: unknown, place: 'body' | 'query' = 'body'): z.output<T> {
  const parsed = schema.safeParse(body)
  if (parsed.success) return parsed.data
  const problems = parsed.error.issues.map(({ path, message, code }) => ({ loc: [place, ...path.map(String)], msg: message, type: code }))
  throw new Refusal('invalid_input', problems)
}

/** @returns a Refusal with one problem. */
export function invalid(loc: readonly string[], msg: string, type = 'value_error', condition: ConditionName = 'invalid_input'): Refusal {
  return new Refusal(condition, [{ loc, msg, type }])
}

/** An OAuth error. Its code is from RFC 6749 or RFC 8628. */
export class OAuthError extends Error {
  readonly code: string
  readonly headers: Readonly<Record<string, string>>

  constructor(code: string, description: string, headers: Readonly<Record<string, string>> = {}) {
    super(description)
    this.code = code
    this.headers = headers
  }
}
