import { isIP } from 'node:net'
import { bad, duration, good, type Parsed } from './values.ts'

/** A URL of a destination. Whether plain http is allowed is for `checkTransport`, which knows `allow_private`. */
export function destinationUrl(text: string): Parsed<string> {
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol) || url.hostname === '') return bad('must be a URL that begins with https://')
  const problems: string[] = []
  if (url.username !== '' || url.password !== '') problems.push('must not hold a user or a password; give them as secrets of their own')
  if (url.hash !== '') problems.push('must not hold a fragment; take it out')
  return problems.length > 0 ? bad(...problems) : good(url.href)
}

/** `now`, `snapshot`, or the number of the newest change that is not sent. */
export function startPoint(text: string): Parsed<'now' | 'snapshot' | number> {
  if (text === 'now' || text === 'snapshot') return good(text)
  const seq = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
  return Number.isSafeInteger(seq) ? good(seq) : bad('must be now, snapshot, or a number of the change log')
}

/** How old at most; `none` for any age. */
export function maxAge(text: string): Parsed<number | null> {
  return text === 'none' ? good(null) : duration('1s', '3650d')(text)
}

/** How many tries a second; `none` for no limit. */
export function ratePerSecond(text: string): Parsed<number | null> {
  if (text === 'none') return good(null)
  const rate = /^\d{1,6}(?:\.\d{1,6})?$/.test(text) ? Number(text) : 0
  return rate >= 0.001 && rate <= 10_000 ? good(rate) : bad('must be a number from 0.001 to 10000, or none')
}

/** A host to connect to: a name or an address, without a port. An address has one way of writing, without brackets. */
export function hostName(text: string): Parsed<string> {
  const bare = bareHost(text.toLowerCase())
  const host = isIP(bare) === 6 ? bareHost(URL.parse(`http://[${bare}]`)?.hostname ?? bare) : bare
  const isName = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*$/.test(host)
  return isName || isIP(host) !== 0 ? good(host) : bad('must be a host such as ams.example.com, without https:// and without a port')
}

/** @returns a host of a URL as it stands elsewhere: IPv6 without brackets. */
export function bareHost(host: string): string {
  return host.replace(/^\[(.*)\]$/, '$1')
}

/** A private key, of as many lines as it has. */
export function privateKey(text: string): Parsed<string> {
  return /-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(text)
    ? good(`${text.trim()}\n`)
    : bad('must be a private key in PEM or OpenSSH form; refer to its file with $' + '{file:PATH}')
}

/** A JSONata expression; whether it can be understood is checked where expressions are. */
export function expression(text: string): Parsed<string> {
  if (text === '') return bad('has nothing in it; write an expression')
  return text.length <= 20_000 ? good(text) : bad('must not be longer than 20000 characters')
}
