import type { z } from 'zod'
import type { ConditionName } from '../../client/openapi/conditions.ts'
import { Refusal } from './refusal.ts'

/** @returns the parsed body, or query. @throws Refusal whose detail is a list of `loc`, `msg` and `type`. */
export function parseBody<T extends z.ZodType>(schema: T, body: unknown, place: 'body' | 'query' = 'body'): z.output<T> {
  const parsed = schema.safeParse(body)
  if (parsed.success) return parsed.data
  const problems = parsed.error.issues.map(({ path, message, code }) => ({ loc: [place, ...path.map(String)], msg: message, type: code }))
  throw new Refusal('invalid_input', problems)
}

/** @returns the error to throw for one field. */
export function invalid(loc: readonly string[], msg: string, type = 'value_error', condition: ConditionName = 'invalid_input'): Refusal {
  return new Refusal(condition, [{ loc, msg, type }])
}
