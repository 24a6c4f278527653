/*
 * HTTP rules that the mirror's client and the published client share. The functions are pure, so they run
 * wherever `fetch` runs.
 */

/** Longest time in seconds that a token is used, even if the answer states a longer lifetime (trap 38). */
const LONGEST_TOKEN_LIFE_S = 3_600

/**
 * Joins a path to the base URL. Keeps the path of the base URL, which `new URL('/x', base)` would drop (trap 76). Adds
 * only `path` and `query` to the base URL (traps 42, 82).
 * @param base an http or https URL; its query, fragment, and user part are ignored.
 * @param path relative to the base URL, with or without a leading slash.
 * @param query parameters; names may repeat. Values are percent-encoded, so that a cursor arrives unchanged (trap 5).
 * @returns null if the result would be outside the base URL, where the token must not be sent (traps 45, 76).
 */
export function urlUnder(base: string, path: string, query: Iterable<readonly [name: string, value: string]> = []): URL | null {
  const root = new URL(base)
  const prefix = root.pathname.replace(/\/+$/, '')
  const relative = path.startsWith('/') ? path.slice(1) : path
  // A path can leave the base URL by a scheme, a second leading slash, a backslash, or `..`, also in encoded form.
  const leaves = /^[a-z][a-z0-9+.-]*:|^\/|\\|%2f|%5c|[?#\s]/i.test(relative) || relative.split('/').some(isDotSegment)
  const url = new URL(`${root.origin}${prefix}/${leaves ? '' : relative}`)
  if (leaves || url.origin !== root.origin || !url.pathname.startsWith(`${prefix}/`)) return null
  url.search = Array.from(query)
    .map(([key, value]) => `${encodeURIComponent(key)}=${encodeURIComponent(value)}`)
    .join('&')
  return url
}

/**
 * True for paths that exchange secrets (`oauth/…`) or count against a daily limit (`broker/appetite…`; traps 44, 55).
 * @param path a path below the base URL, from the settings or an answer, with or without a query.
 */
export function isReservedPath(path: string): boolean {
  const [plain = ''] = path.split(/[?#;]/, 1)
  const segments = plain.split('/').flatMap((segment) => (segment === '' ? [] : decoded(segment).toLowerCase()))
  // OAuth metadata (`oauth/.well-known/…`) contains no secrets.
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
 * Reads `Retry-After`: a number of seconds, or an HTTP date. A date is compared with the answer's `Date` header,
 * because the server's clock and ours can differ (trap 49).
 * @param nowMs our time in milliseconds since the epoch, used if the answer has no valid `Date`.
 * @returns the time to wait in milliseconds, at least 0; null if the header is missing or unreadable.
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

/**
 * @param expiresIn lifetime from the service: a number, a text, or nothing.
 * @returns how long to use the token, in seconds; at most 3,600. A missing or invalid lifetime gives 3,600.
 */
export function tokenLifeSeconds(expiresIn: unknown): number {
  const seconds = typeof expiresIn === 'string' && expiresIn.trim() !== '' ? Number(expiresIn) : expiresIn
  return typeof seconds === 'number' && seconds > 0 ? Math.min(seconds, LONGEST_TOKEN_LIFE_S) : LONGEST_TOKEN_LIFE_S
}
