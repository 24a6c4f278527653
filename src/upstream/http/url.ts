import { PermanentError } from '../../base/errors.ts'

/**
 * Joins a path to the base URL and keeps the base's own path, which holds the version segment: `new URL('/x', base)`
 * would drop it (trap 76). Nothing else is ever appended (traps 42, 82).
 * @param base an http or https URL; its query, fragment and user part are not used.
 * @param path relative to the base, with or without a slash before it.
 * @param query parameters, of which some may bear one name; values are percent-encoded, so that a cursor arrives as it was given (trap 5).
 * @throws PermanentError when the result would leave the base: the bearer goes nowhere else (traps 45, 76).
 */
export function urlUnder(base: string, path: string, query: Iterable<readonly [name: string, value: string]> = []): URL {
  const root = new URL(base)
  const prefix = root.pathname.replace(/\/+$/, '')
  const relative = path.startsWith('/') ? path.slice(1) : path
  // What makes a path leave its base: a scheme, a second slash at its start, a backslash, steps upward however written.
  const leaves = /^[a-z][a-z0-9+.-]*:|^\/|\\|%2f|%5c|[?#\s]/i.test(relative) || relative.split('/').some(isStep)
  const url = new URL(`${root.origin}${prefix}/${leaves ? '' : relative}`)
  if (leaves || url.origin !== root.origin || !url.pathname.startsWith(`${prefix}/`)) {
    throw new PermanentError('a path that leads away from the base URL is refused')
  }
  url.search = Array.from(query)
    .map(([key, value]) => `${encodeURIComponent(key)}=${encodeURIComponent(value)}`)
    .join('&')
  return url
}

function isStep(segment: string): boolean {
  return /^(?:\.|%2e){1,2}$/i.test(segment)
}
