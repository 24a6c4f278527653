import { isIP } from 'node:net'
import { duration, invalid, type Ms, ok, type Parsed } from './values.ts'

/** Parses a destination's URL. `checkTransport` decides about plain http. */
export function destinationUrl(text: string): Parsed<string> {
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol) || url.hostname === '') return invalid('must be a URL that begins with https://')
  const problems: string[] = []
  if (url.username !== '' || url.password !== '') problems.push('must not hold a user or a password; give them as secrets of their own')
  if (url.hash !== '') problems.push('must not contain a fragment; remove it')
  return problems.length > 0 ? invalid(...problems) : ok(url.href)
}

/** Parses `now`, `snapshot`, or the `seq` after which sending starts. */
export function startPoint(text: string): Parsed<'now' | 'snapshot' | number> {
  if (text === 'now' || text === 'snapshot') return ok(text)
  const seq = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
  return Number.isSafeInteger(seq) ? ok(seq) : invalid('must be now, snapshot, or a number of the change log')
}

/** Parses a maximum age; `none` is null. */
export function maxAge(text: string): Parsed<Ms | null> {
  return text === 'none' ? ok(null) : duration('1s', '3650d')(text)
}

/** Parses attempts a second; `none` is null. */
export function ratePerSecond(text: string): Parsed<number | null> {
  if (text === 'none') return ok(null)
  const rate = /^\d{1,6}(?:\.\d{1,6})?$/.test(text) ? Number(text) : 0
  return rate >= 0.001 && rate <= 10_000 ? ok(rate) : invalid('must be a number from 0.001 to 10000, or none')
}

/** Parses a host name or address without a port. IPv6 addresses are normalised and have no brackets. */
export function hostName(text: string): Parsed<string> {
  const bare = bareHost(text.toLowerCase())
  const host = isIP(bare) === 6 ? bareHost(URL.parse(`http://[${bare}]`)?.hostname ?? bare) : bare
  const isName = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*$/.test(host)
  return isName || isIP(host) !== 0 ? ok(host) : invalid('must be a host such as ams.example.com, without https:// and without a port')
}

/** @returns a URL's host without the brackets of IPv6. */
export function bareHost(host: string): string {
  return host.replace(/^\[(.*)\]$/, '$1')
}

/** Parses a private key in PEM or OpenSSH form. */
export function privateKey(text: string): Parsed<string> {
  return /-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(text)
    ? ok(`${text.trim()}\n`)
    : invalid('must be a private key in PEM or OpenSSH form; refer to its file with $' + '{file:PATH}')
}

/** Checks the length of a JSONata expression; `push/` checks its syntax. */
export function expression(text: string): Parsed<string> {
  if (text === '') return invalid('is empty; write an expression')
  return text.length <= 20_000 ? ok(text) : invalid('must not be longer than 20000 characters')
}
