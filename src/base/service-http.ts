/* HTTP rules that the mirror's client and the published client share. Pure functions, so that they run anywhere `fetch` does. */

/** Longest use of a token, even if its answer states more (trap 38). */
const LONGEST_TOKEN_LIFE_S = 3_600

/**
 * Joins a path to the base URL. Keeps the base's path, which `new URL('/x', base)` would drop (trap 76), and appends nothing else (traps
 * 42, 82).
 * @param base an http or https URL; its query, fragment and user part are ignored.
 * @param path relative to the base, with or without a leading slash.
 * @param query parameters; names may repeat. Values are percent-encoded, so that a cursor arrives unchanged (trap 5).
 * @returns null for a URL outside the base: the token must not go there (traps 45, 76).
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
 * Whether a path from settings or an answer exchanges secrets or counts against a daily limit (traps 44, 55).
 * @param path below the base URL, with or without a query.
 */
export function isReservedPath(path: string): boolean {
  const [plain = ''] = path.split(/[?#;]/, 1)
  const segments = plain.split('/').flatMap((segment) => (segment === '' ? [] : decoded(segment).toLowerCase()))
  // Metadata exchanges no secrets.
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
 * Reads `Retry-After`: seconds, or an HTTP date, compared with the answer's `Date` because clocks differ (trap 49).
 * @param nowMs our time, for an answer without a `Date`.
 * @returns milliseconds from now, not negative; null if the header is missing or unreadable.
 */
export function retryAfterMs(header: string | null | undefined, date: string | null | undefined, nowMs: number): number | null {
  const value = header?.trim()
  if (!value) return null
  const waitMs = /^\d+(?:\.\d+)?$/.test(value) ? Number(value) * 1000 : httpDateMs(value) - orElse(httpDateMs(date ?? ''), nowMs)
  return Number.isNaN(waitMs) ? null : Math.max(waitMs, 0)
}

/** @returns milliseconds since the epoch; NaN for an invalid HTTP date. */
export function httpDateMs(value: string): number {
  return /^[A-Za-z]{3,9},? /.test(value) ? Date.parse(value) : Number.NaN
}

function orElse(value: number, fallback: number): number {
  return Number.isNaN(value) ? fallback : value
}

/** @param expiresIn from the service: a number, a text, or nothing. @returns how long a token may be used, in seconds. */
export function tokenLifeSeconds(expiresIn: unknown): number {
  const seconds = typeof expiresIn === 'string' && expiresIn.trim() !== '' ? Number(expiresIn) : expiresIn
  return typeof seconds === 'number' && seconds > 0 ? Math.min(seconds, LONGEST_TOKEN_LIFE_S) : LONGEST_TOKEN_LIFE_S
}
