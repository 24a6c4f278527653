import { isReservedPath } from '../../base/service-http.ts'
import { invalid, ok, type Parsed } from './values.ts'

/** Matches a path segment: letters, digits, and `._~-`, or a key in braces. */
const SEGMENT = /^(?:[A-Za-z0-9._~-]+|\{[a-z][a-z0-9_]{0,62}\})$/
const QUERY = /^[A-Za-z0-9._~=&%,:-]{1,500}$/

/**
 * Parses a path that is read to find submission ids: a path below the base URL, optionally with a query. A segment such
 * as `{insured_id}` is replaced by each id that the answer of another path contains under this key.
 * Rejects paths that exchange secrets or count against a daily limit (traps 44, 55).
 */
export function probePath(text: string): Parsed<string> {
  const [path = ''] = text.split('?')
  const segments = path.split('/').slice(1)
  if (!isPlainPath(text))
    return invalid('must be a path below the base URL, such as /broker/insureds or /broker/insureds/{insured_id}; a query is optional')
  if (isReservedPath(text))
    return invalid('must not be a path of /oauth or /broker/appetite, whose requests exchange secrets or count against a daily limit')
  if (segments.includes('{submission_id}')) return invalid('must not contain {submission_id}: probing finds those ids')
  if (new Set(placeholders(path)).size > 1) return invalid('must contain at most one {key}; use several paths')
  return ok(text)
}

/** True if a path stays below the base URL: it has no host, no `..`, and no encoded characters. */
export function isPlainPath(text: string): boolean {
  const [path = '', query, more] = text.split('?')
  const segments = path.split('/').slice(1)
  const isPlain =
    path.startsWith('/') && segments.length > 0 && segments.every((segment) => SEGMENT.test(segment) && !/^\.+$/.test(segment))
  return isPlain && path.length <= 300 && more === undefined && (query === undefined || QUERY.test(query))
}

function placeholders(path: string): string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, key = '']) => key)
}
