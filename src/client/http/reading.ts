import { isObject } from '../../model/json.ts'
import { UnexpectedAnswer } from '../errors.ts'
import { parsed } from './wire.ts'

/** A schema that keeps unknown fields. */
export interface Reads<T> {
  safeParse(value: unknown): { readonly success: true; readonly data: T } | { readonly success: false; readonly error: Error }
}

/**
 * Reads the body of a successful answer. An unexpected null counts as a missing field.
 * @param what the request's name in messages.
 * @throws UnexpectedAnswer if required fields are missing.
 */
export function readBody<T>(schema: Reads<T>, what: string, status: number, text: string): T {
  const body = parsed(text)
  const first = schema.safeParse(body)
  if (first.success) return first.data
  const read = schema.safeParse(issuesOf(first.error).reduce((value: unknown, { path }) => withoutNull(value, path), body))
  if (read.success) return read.data
  throw new UnexpectedAnswer(`${what} was answered ${status} with a body that violates the specification: ${inShort(read.error)}`)
}

/** @returns the problems of a value as one line. */
export function inShort(error: Error): string {
  const problems = issuesOf(error).map(({ path, message }) => (path.length > 0 ? `${path.join('.')}: ${message}` : message))
  return (problems.length > 0 ? problems.join('; ') : error.message).replace(/\s+/g, ' ').slice(0, 300)
}

interface Issue {
  readonly path: readonly PropertyKey[]
  readonly message: string
}

function issuesOf(error: Error): Issue[] {
  const issues = 'issues' in error && Array.isArray(error.issues) ? error.issues.filter(isObject) : []
  return issues.map(({ path, message }) => ({ path: Array.isArray(path) ? path : [], message: String(message) }))
}

/** @returns a copy of the value. A null at the given path is removed. */
function withoutNull(value: unknown, [key, ...rest]: readonly PropertyKey[]): unknown {
  if (Array.isArray(value)) return value.map((item, index) => (index === key ? withoutNull(item, rest) : item))
  if (!isObject(value) || typeof key !== 'string') return value
  const { [key]: field, ...others } = value
  if (field === null && rest.length === 0) return others
  return { ...others, [key]: withoutNull(field, rest) }
}
