import { isIP } from 'node:net'

/** What a text means, or what is wrong with it: predicates that follow the setting's name, and never repeat the text. */
export type Parsed<T> = { readonly value: T } | { readonly problems: readonly string[] }

export function good<T>(value: T): Parsed<T> {
  return { value }
}

export function bad(...problems: readonly string[]): Parsed<never> {
  return { problems }
}

const DURATION_UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }
const SIZE_UNITS: Readonly<Record<string, number>> = { '': 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 }

/** A parser of durations such as `500ms`, `60s`, `15m`, `6h`, `7d`; its values are milliseconds. */
export function duration(min: string, max: string): (text: string) => Parsed<number> {
  const [minMs, maxMs] = [milliseconds(min) ?? 0, milliseconds(max) ?? 0]
  return (text) => {
    const ms = milliseconds(text)
    if (ms !== null && ms >= minMs && ms <= maxMs) return good(ms)
    return bad(`must be a duration from ${min} to ${max}, such as 60s, 15m, 6h or 7d`)
  }
}

function milliseconds(text: string): number | null {
  const match = /^(\d{1,9})(ms|s|m|h|d)$/.exec(text)
  return match ? Number(match[1]) * (DURATION_UNITS[match[2] ?? ''] ?? 0) : null
}

/** A parser of sizes such as `4MiB`, `512KiB`, `65536`; its values are bytes. */
export function size(min: string, max: string): (text: string) => Parsed<number> {
  const [minBytes, maxBytes] = [bytes(min) ?? 0, bytes(max) ?? 0]
  return (text) => {
    const value = bytes(text)
    if (value !== null && value >= minBytes && value <= maxBytes) return good(value)
    return bad(`must be a size from ${min} to ${max}, such as 4MiB, 512KiB, or a plain number of bytes`)
  }
}

function bytes(text: string): number | null {
  const match = /^(\d{1,12})(|KiB|MiB|GiB)$/.exec(text)
  return match ? Number(match[1]) * (SIZE_UNITS[match[2] ?? ''] ?? 0) : null
}

/** A parser of numbers within bounds, both included. */
export function number(min: number, max: number, kind: 'whole' | 'any' = 'whole'): (text: string) => Parsed<number> {
  const pattern = kind === 'whole' ? /^\d{1,9}$/ : /^\d{1,9}(?:\.\d{1,6})?$/
  return (text) => {
    const value = pattern.test(text) ? Number(text) : Number.NaN
    return value >= min && value <= max ? good(value) : bad(`must be a ${kind === 'whole' ? 'whole ' : ''}number from ${min} to ${max}`)
  }
}

/** A parser of whole days, of which there is at least one, or `off`, which is null. */
export function daysOrOff(max: number): (text: string) => Parsed<number | null> {
  const days = number(1, max)
  return (text) => {
    if (text === 'off') return good(null)
    return 'value' in days(text) ? days(text) : bad(`must be a number of days from 1 to ${max}, or off`)
  }
}

/** A time zone as the IANA names it. */
export function timeZone(text: string): Parsed<string> {
  try {
    return good(new Intl.DateTimeFormat('en-US', { timeZone: text }).resolvedOptions().timeZone)
  } catch {
    return bad('must be a time zone such as UTC or America/New_York')
  }
}

export function flag(text: string): Parsed<boolean> {
  if (/^(?:true|on|yes|1)$/i.test(text)) return good(true)
  return /^(?:false|off|no|0)$/i.test(text) ? good(false) : bad('must be true or false')
}

export function oneOf<const T extends string>(words: readonly T[]): (text: string) => Parsed<T> {
  return (text) => {
    const word = words.find((each) => each === text)
    return word === undefined ? bad(`must be one of ${words.join(', ')}`) : good(word)
  }
}

export function matching(pattern: RegExp, problem: string): (text: string) => Parsed<string> {
  return (text) => (pattern.test(text) ? good(text) : bad(problem))
}

/**
 * The base URL of the service, version segment included: nothing is added to it (traps 42, 82), only a slash at its end is cut.
 * Plain http would show the token to everyone on the way, so it is for this machine alone.
 */
export function baseUrl(text: string): Parsed<string> {
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol)) return bad('must be an https URL that ends with the version segment')
  const problems: string[] = []
  if (url.username !== '' || url.password !== '') problems.push('must not hold a user or a password; take them out')
  if (/[?#]/.test(text)) problems.push('must not hold a query or a fragment; end it with the version segment')
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) problems.push('must use https; http is only for a service on this machine')
  return problems.length > 0 ? bad(...problems) : good(`${url.origin}${url.pathname}`.replace(/\/+$/, ''))
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost') || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host)
}

/** The URL of a proxy for outgoing calls; it may hold a user and a password, which are decoded before they are sent. */
export function proxyUrl(text: string): Parsed<string> {
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol) || url.hostname === '') return bad('must be a URL such as http://proxy.example:3128')
  if (!isDecodable(url.username) || !isDecodable(url.password)) return bad('is no valid URL; in user and password write % as %25')
  return good(text)
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
 * Whose word the receiver takes for a sender's address: `off`, `on` for everyone's, or addresses and networks, separated by commas
 * or spaces. A number of hops is refused: the server ignores one, since it cannot tell a balancer from who pretends to be one.
 */
export function trustProxy(text: string): Parsed<boolean | string> {
  if (/^[1-9]\d*$/.test(text))
    return bad('must not be a number of hops, which cannot be checked; name the addresses of the balancers, or uniquelocal')
  const asFlag = flag(text)
  if ('value' in asFlag) return asFlag
  const items = text.split(/[\s,]+/).filter((item) => item !== '')
  if (items.length > 0 && items.every(isNetwork)) return good(items.join(','))
  return bad('must be off, on, or addresses and networks such as 10.0.0.0/8, loopback or uniquelocal')
}

function isNetwork(text: string): boolean {
  if (/^(?:loopback|linklocal|uniquelocal)$/.test(text)) return true
  const [, address = '', bits] = /^([^/]+)(?:\/([1-9]\d{0,2}))?$/.exec(text) ?? []
  const version = isIP(address)
  return version !== 0 && !address.includes('%') && (bits === undefined || Number(bits) <= (version === 4 ? 32 : 128))
}

/** @returns the bytes of a webhook secret (`whsec_…` or bare base64), or null when it is no base64. */
export function webhookKey(text: string): Buffer | null {
  const base64 = text.replace(/^whsec_/, '')
  const padded = base64.endsWith('=')
  const whole = padded ? base64.length % 4 === 0 : base64.length % 4 !== 1
  return whole && /^[A-Za-z0-9+/]+={0,2}$/.test(base64) ? Buffer.from(base64, 'base64') : null
}

/** A webhook secret. A short one could be guessed, and an empty key is one that everybody knows. */
export function webhookSecret(text: string): Parsed<string> {
  const key = webhookKey(text)
  if (key === null) return bad('must be whsec_ and base64, or base64 alone; copy the secret again from where it was made')
  if (key.length < 24 || key.length > 64) return bad('must stand for 24 to 64 bytes; copy the secret again from where it was made')
  return good(text)
}

/** A secret that some other system made: its form is that system's business, but what only a slip of the hand puts in is refused. */
export function anySecret(text: string): Parsed<string> {
  if (text.trim() === '') return bad('has nothing in it; set it')
  if (text !== text.trim()) return bad('begins or ends with a space or a line break; take it out')
  return /\p{Cc}/u.test(text) ? bad('holds a control character; copy it again') : good(text)
}

/** Some readers of `.env` files leave the quotes in; the service then refuses what looks right in the file. */
const IN_QUOTES = /^(["']).*\1$/s

/** The id of a credential of the service. */
export function clientId(text: string): Parsed<string> {
  if (IN_QUOTES.test(text)) return bad('stands in quotes, which are part of it here; take them out')
  return /^[\x21-\x7e]+$/.test(text) ? good(text) : bad('must be a client id, without spaces')
}

/** The secret of a credential of the service, which makes none that stands in quotes. */
export function clientSecret(text: string): Parsed<string> {
  return IN_QUOTES.test(text) ? bad('stands in quotes, which are part of it here; take them out') : anySecret(text)
}

/** Where to listen: an address, or a name of this machine. A port has a setting of its own. */
export function listenHost(text: string): Parsed<string> {
  return /^[A-Za-z0-9._-]+$/.test(text) || isIP(text) !== 0
    ? good(text)
    : bad('must be an address to listen on, without a port, such as 0.0.0.0, 127.0.0.1 or ::')
}
