/*
 * What both clients of the service, the mirror's and the published one, make of HTTP. Pure functions, so that they run wherever `fetch` does.
 */

/** Access tokens live 60 minutes. None is used longer, whatever its answer says (trap 38). */
const LONGEST_TOKEN_LIFE_S = 3_600

/**
 * Joins a path to the base URL. It keeps the base's own path with the version segment, which `new URL('/x', base)` would drop (trap 76), and
 * appends nothing else (traps 42, 82).
 * @param base an http or https URL; its query, fragment and user part are not used.
 * @param path relative to the base, with or without a leading slash.
 * @param query parameters; names may repeat. Values are percent-encoded, so that a cursor arrives unchanged (trap 5).
 * @returns null when the result would leave the base: the token goes nowhere else (traps 45, 76).
 */
export function urlUnder(base: string, path: string, query: Iterable<readonly [name: string, value: string]> = []): URL | null {
  const root = new URL(base)
  const prefix = root.pathname.replace(/\/+$/, '')
  const relative = path.startsWith('/') ? path.slice(1) : path
  // A path leaves its base by a scheme, a second leading slash, a backslash, or `..` in any encoding.
  const leaves = /^[a-z][a-z0-9+.-]*:|^\/|\\|%2f|%5c|[?#\s]/i.test(relative) || relative.split('/').some(isDotSegment)
  const url = new URL(`${root.origin}${prefix}/${leaves ? '' : relative}`)
  if (leaves || url.origin !== root.origin || !url.pathname.startsWith(`${prefix}/`)) return null
  url.search = Array.from(query)
    .map(([key, value]) => `${encodeURIComponent(key)}=${encodeURIComponent(value)}`)
    .join('&')
  return url
}

/**
 * Whether a path that came from settings or from an answer is one that exchanges secrets, or counts against a daily limit (traps 44, 55).
 * @param path below the base URL, with a query or without.
 */
export function isReservedPath(path: string): boolean {
  const [plain = ''] = path.split(/[?#;]/, 1)
  const segments = plain.split('/').flatMap((segment) => (segment === '' ? [] : decoded(segment).toLowerCase()))
  // The metadata document exchanges nothing.
  if (segments[0] === 'oauth' && segments[1] === '.well-known') return false
  return segments[0] === 'oauth' || (segments[0] === 'broker' && segments[1] === 'appetite')
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

function isDotSegment(segment: string): boolean {
  return /^(?:\.|%2e){1,2}$/i.test(segment)
}

/**
 * Reads `Retry-After`: seconds, or an HTTP date, which is compared with the answer's own `Date` because clocks differ (trap 49).
 * @param nowMs our time, for an answer without a `Date`.
 * @returns milliseconds from now, not negative; null when the header is absent or unreadable.
 */
export function retryAfterMs(header: string | null | undefined, date: string | null | undefined, nowMs: number): number | null {
  const value = header?.trim()
  if (!value) return null
  const waitMs = /^\d+(?:\.\d+)?$/.test(value) ? Number(value) * 1000 : httpDateMs(value) - orElse(httpDateMs(date ?? ''), nowMs)
  return Number.isNaN(waitMs) ? null : Math.max(waitMs, 0)
}

/** @returns the time of an HTTP date, in milliseconds since the epoch; NaN for what is none. */
export function httpDateMs(value: string): number {
  return /^[A-Za-z]{3,9},? /.test(value) ? Date.parse(value) : Number.NaN
}

function orElse(value: number, fallback: number): number {
  return Number.isNaN(value) ? fallback : value
}

/** @param expiresIn as the service told it: a number, a text, or nothing. @returns how long a token may be used, in seconds. */
export function tokenLifeSeconds(expiresIn: unknown): number {
  const told = typeof expiresIn === 'string' && expiresIn.trim() !== '' ? Number(expiresIn) : expiresIn
  return typeof told === 'number' && told > 0 ? Math.min(told, LONGEST_TOKEN_LIFE_S) : LONGEST_TOKEN_LIFE_S
}
