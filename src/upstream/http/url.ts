import { PermanentError } from '../../base/errors.ts'

/**
 * Joins a path to the base URL. It keeps the base's own path with the version segment, which `new URL('/x', base)` would drop (trap 76), and
 * appends nothing else (traps 42, 82).
 * @param base an http or https URL; its query, fragment and user part are not used.
 * @param path relative to the base, with or without a leading slash.
 * @param query parameters; names may repeat. Values are percent-encoded, so that a cursor arrives unchanged (trap 5).
 * @throws PermanentError when the result would leave the base: the token goes nowhere else (traps 45, 76).
 */
export function urlUnder(base: string, path: string, query: Iterable<readonly [name: string, value: string]> = []): URL {
  const root = new URL(base)
  const prefix = root.pathname.replace(/\/+$/, '')
  const relative = path.startsWith('/') ? path.slice(1) : path
  // A path leaves its base by a scheme, a second leading slash, a backslash, or `..` in any encoding.
  const leaves = /^[a-z][a-z0-9+.-]*:|^\/|\\|%2f|%5c|[?#\s]/i.test(relative) || relative.split('/').some(isDotSegment)
  const url = new URL(`${root.origin}${prefix}/${leaves ? '' : relative}`)
  if (leaves || url.origin !== root.origin || !url.pathname.startsWith(`${prefix}/`)) {
    throw new PermanentError('refused a path that leads away from the base URL')
  }
  url.search = Array.from(query)
    .map(([key, value]) => `${encodeURIComponent(key)}=${encodeURIComponent(value)}`)
    .join('&')
  return url
}

function isDotSegment(segment: string): boolean {
  return /^(?:\.|%2e){1,2}$/i.test(segment)
}
