import { isIP } from 'node:net'

/**
 * A parsed value, or problems. Each problem continues a sentence that starts with the setting's name. A problem never
 * contains the setting's text.
 */
export type Parsed<T> = { readonly value: T } | { readonly problems: readonly string[] }

export function ok<T>(value: T): Parsed<T> {
  return { value }
}

export function invalid(...problems: readonly string[]): Parsed<never> {
  return { problems }
}

declare const unit: unique symbol
/** Milliseconds. The symbol exists only in types. `ConfigOf` uses it to give durations names that end in `Ms`. */
export type Ms = number & { readonly [unit]?: 'ms' }
export type MsMark = typeof unit

const DURATION_UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }
const SIZE_UNITS: Readonly<Record<string, number>> = { '': 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 }

/** Parses durations such as `500ms`, `60s`, `15m`, `6h`, `7d` into milliseconds. */
export function duration(min: string, max: string): (text: string) => Parsed<Ms> {
  const [minMs, maxMs] = [milliseconds(min) ?? 0, milliseconds(max) ?? 0]
  return (text) => {
    const ms = milliseconds(text)
    if (ms !== null && ms >= minMs && ms <= maxMs) return ok(ms)
    if (milliseconds(`${text}s`) !== null) return invalid(`has no unit: write ${Number(text)}s for seconds, or m, h or d instead of s`)
    return invalid(`must be a duration from ${min} to ${max}, such as 60s, 15m, 6h or 7d`)
  }
}

function milliseconds(text: string): number | null {
  const match = /^(\d{1,9})(ms|s|m|h|d)$/.exec(text)
  return match ? Number(match[1]) * (DURATION_UNITS[match[2] ?? ''] ?? 0) : null
}

/** Parses sizes such as `4MiB`, `512KiB`, `65536` into bytes. */
export function size(min: string, max: string): (text: string) => Parsed<number> {
  const [minBytes, maxBytes] = [bytes(min) ?? 0, bytes(max) ?? 0]
  return (text) => {
    const value = bytes(text)
    if (value !== null && value >= minBytes && value <= maxBytes) return ok(value)
    return invalid(`must be a size from ${min} to ${max}, such as 4MiB, 512KiB, or a plain number of bytes`)
  }
}

function bytes(text: string): number | null {
  const match = /^(\d{1,12})(|KiB|MiB|GiB)$/.exec(text)
  return match ? Number(match[1]) * (SIZE_UNITS[match[2] ?? ''] ?? 0) : null
}

export function number(min: number, max: number, kind: 'whole' | 'any' = 'whole'): (text: string) => Parsed<number> {
  const pattern = kind === 'whole' ? /^\d{1,9}$/ : /^\d{1,9}(?:\.\d{1,6})?$/
  return (text) => {
    const value = pattern.test(text) ? Number(text) : Number.NaN
    return value >= min && value <= max ? ok(value) : invalid(`must be a ${kind === 'whole' ? 'whole ' : ''}number from ${min} to ${max}`)
  }
}

/** Parses a number of days, at least 1; `off` becomes null. */
export function daysOrOff(max: number): (text: string) => Parsed<number | null> {
  const days = number(1, max)
  return (text) => {
    if (text === 'off') return ok(null)
    return 'value' in days(text) ? days(text) : invalid(`must be a number of days from 1 to ${max}, or off`)
  }
}

export function timeZone(text: string): Parsed<string> {
  try {
    return ok(new Intl.DateTimeFormat('en-US', { timeZone: text }).resolvedOptions().timeZone)
  } catch {
    return invalid('must be a time zone such as UTC or America/New_York')
  }
}

export function flag(text: string): Parsed<boolean> {
  if (/^(?:true|on|yes|1)$/i.test(text)) return ok(true)
  return /^(?:false|off|no|0)$/i.test(text) ? ok(false) : invalid('must be true or false')
}

export function oneOf<const T extends string>(words: readonly T[]): (text: string) => Parsed<T> {
  return (text) => {
    const word = words.find((each) => each === text)
    return word === undefined ? invalid(`must be one of ${words.join(', ')}`) : ok(word)
  }
}

export function matching(pattern: RegExp, problem: string): (text: string) => Parsed<string> {
  return (text) => (pattern.test(text) ? ok(text) : invalid(problem))
}

/**
 * Parses the service's base URL with its version segment (traps 42, 82). Removes slashes at its end. Plain http is
 * allowed only for a service on this machine, because http exposes the token.
 */
export function baseUrl(text: string): Parsed<string> {
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol)) return invalid('must be an https URL that ends with the version segment')
  const problems: string[] = []
  if (url.username !== '' || url.password !== '') problems.push('must not contain a user or a password; remove them')
  if (/[?#]/.test(text)) problems.push('must not contain a query or a fragment; end it with the version segment')
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) problems.push('must use https; http is only for a service on this machine')
  return problems.length > 0 ? invalid(...problems) : ok(`${url.origin}${url.pathname}`.replace(/\/+$/, ''))
}

/**
 * Parses the public URL of the receiver or of the ops port: https, optionally with the path prefix of a load balancer.
 * Plain http is allowed only for this machine.
 */
export function publicUrl(text: string): Parsed<string> {
  const parsed = baseUrl(text)
  if ('value' in parsed) return parsed
  return invalid('must be an https URL, such as https://console.example.com, without a query; http is only for this machine')
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost') || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host)
}

/** Parses the URL of a proxy. Its user and password must be correctly percent-encoded. */
export function proxyUrl(text: string): Parsed<string> {
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol) || url.hostname === '') return invalid('must be a URL such as http://proxy.example:3128')
  if (!isDecodable(url.username) || !isDecodable(url.password)) return invalid('is not a valid URL; in user and password write % as %25')
  return ok(text)
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

/**
 * Parses the proxies whose `X-Forwarded-For` is trusted: `off`, `on` (all), or addresses and networks separated by
 * commas or spaces. Rejects a hop count, because a sender could add hops.
 */
export function trustProxy(text: string): Parsed<boolean | string> {
  if (/^[1-9]\d*$/.test(text))
    return invalid('must not be a number of hops, which cannot be checked; name the addresses of the balancers, or uniquelocal')
  const asFlag = flag(text)
  if ('value' in asFlag) return asFlag
  const items = text.split(/[\s,]+/).filter((item) => item !== '')
  if (items.length > 0 && items.every(isNetwork)) return ok(items.join(','))
  return invalid('must be off, on, or addresses and networks such as 10.0.0.0/8, loopback or uniquelocal')
}

function isNetwork(text: string): boolean {
  if (/^(?:loopback|linklocal|uniquelocal)$/.test(text)) return true
  const [, address = '', bits] = /^([^/]+)(?:\/([1-9]\d{0,2}))?$/.exec(text) ?? []
  const version = isIP(address)
  return version !== 0 && !address.includes('%') && (bits === undefined || Number(bits) <= (version === 4 ? 32 : 128))
}

/** @returns the bytes of a webhook secret (`whsec_…`, or base64 alone); null if it isn't base64. */
export function webhookKey(text: string): Buffer | null {
  const base64 = text.replace(/^whsec_/, '')
  const padded = base64.endsWith('=')
  const hasFullLength = padded ? base64.length % 4 === 0 : base64.length % 4 !== 1
  return hasFullLength && /^[A-Za-z0-9+/]+={0,2}$/.test(base64) ? Buffer.from(base64, 'base64') : null
}

/** Parses a webhook secret. Rejects short secrets, because they could be guessed. */
export function webhookSecret(text: string): Parsed<string> {
  const key = webhookKey(text)
  if (key === null) return invalid('must be whsec_ and base64, or base64 alone; copy the secret again from its source')
  if (key.length < 24 || key.length > 64) return invalid('must be base64 of 24 to 64 bytes; copy the secret again from its source')
  return ok(text)
}

/**
 * Parses a secret of another system. Rejects only typical copying mistakes: empty text, spaces at the ends,
 * and control characters.
 */
export function anySecret(text: string): Parsed<string> {
  if (text.trim() === '') return invalid('is empty; set it')
  if (text !== text.trim()) return invalid('begins or ends with a space or a line break; remove it')
  return /\p{Cc}/u.test(text) ? invalid('holds a control character; copy it again') : ok(text)
}

export function protectKey(text: string): Parsed<string> {
  const isKey = /^[A-Za-z0-9+/]{43}=$/.test(text) && Buffer.from(text, 'base64').toString('base64') === text
  return isKey ? ok(text) : invalid('must be base64 of 32 random bytes; make one with `openssl rand -base64 32`')
}

/**
 * Matches a value in quotes. Some readers of `.env` files keep the quotes. The service would then reject credentials
 * that look right in the file.
 */
const QUOTED = /^(["']).*\1$/s

export function clientId(text: string): Parsed<string> {
  if (QUOTED.test(text)) return invalid('is in quotes, which count as part of the value; remove them')
  return /^[\x21-\x7e]+$/.test(text) ? ok(text) : invalid('must be a client id, without spaces')
}

/** Parses the service's client secret. The service never issues secrets in quotes, so quotes are rejected. */
export function clientSecret(text: string): Parsed<string> {
  return QUOTED.test(text) ? invalid('is in quotes, which count as part of the value; remove them') : anySecret(text)
}

export function listenHost(text: string): Parsed<string> {
  return /^[A-Za-z0-9._-]+$/.test(text) || isIP(text) !== 0
    ? ok(text)
    : invalid('must be an address to listen on, without a port, such as 0.0.0.0, 127.0.0.1 or ::')
}
