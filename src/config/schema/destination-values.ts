import { isIP } from 'node:net'
import { z } from 'zod'
import { nearest } from '../../base/near-names.ts'
import { field } from './reading.ts'
import { duration, invalid, type Ms, ok, type Parsed } from './values.ts'

/** Parses one of the names in `known`. @param what kind of name for the message, with an article. */
export function knownName(known: readonly string[], what: string): (text: string) => Parsed<string> {
  return (text) => (known.includes(text) ? ok(text) : invalid(`is not ${what}; the nearest one is ${nearest(text, known)}`))
}

/** Parses the URL of a destination. `checkTransport` then decides whether plain http is allowed. */
export function destinationUrl(text: string): Parsed<string> {
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol) || url.hostname === '') return invalid('must be a URL that begins with https://')
  const problems: string[] = []
  if (url.username !== '' || url.password !== '') problems.push('must not hold a user or a password; set them as separate secrets')
  if (url.hash !== '') problems.push('must not contain a fragment; remove it')
  return problems.length > 0 ? invalid(...problems) : ok(url.href)
}

/** Parses `now`, `snapshot`, or a number of the change log. Sending starts after that number. */
export function startPoint(text: string): Parsed<'now' | 'snapshot' | number> {
  if (text === 'now' || text === 'snapshot') return ok(text)
  const seq = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
  return Number.isSafeInteger(seq) ? ok(seq) : invalid('must be now, snapshot, or a number of the change log')
}

/** Parses a duration; `none` becomes null. */
export function maxAge(text: string): Parsed<Ms | null> {
  return text === 'none' ? ok(null) : duration('1s', '3650d')(text)
}

/** Parses a number of attempts per second; `none` becomes null. */
export function ratePerSecond(text: string): Parsed<number | null> {
  if (text === 'none') return ok(null)
  const rate = /^\d{1,6}(?:\.\d{1,6})?$/.test(text) ? Number(text) : 0
  return rate >= 0.001 && rate <= 10_000 ? ok(rate) : invalid('must be a number from 0.001 to 10000, or none')
}

/** Parses a host name or address without a port. An IPv6 address is normalized, and its brackets are removed. */
export function hostName(text: string): Parsed<string> {
  const bare = bareHost(text.toLowerCase())
  const host = isIP(bare) === 6 ? bareHost(URL.parse(`http://[${bare}]`)?.hostname ?? bare) : bare
  const isName = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*$/.test(host)
  return isName || isIP(host) !== 0 ? ok(host) : invalid('must be a host such as ams.example.com, without https:// and without a port')
}

function bareHost(host: string): string {
  return host.replace(/^\[(.*)\]$/, '$1')
}

export function privateKey(text: string): Parsed<string> {
  return /-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(text)
    ? ok(`${text.trim()}\n`)
    : invalid('must be a private key in PEM or OpenSSH form; refer to its file with $' + '{file:PATH}')
}

/** Checks only the length of a JSONata expression. `push/` checks its syntax. */
export function expression(text: string): Parsed<string> {
  if (text === '') return invalid('is empty; write an expression')
  return text.length <= 20_000 ? ok(text) : invalid('must not be longer than 20000 characters')
}

interface Transport {
  readonly allow_private: boolean
  readonly allow_hosts?: readonly string[] | undefined
}

/** Rejects plain http unless `allow_private` is true. Also rejects hosts that aren't in `allow_hosts`. */
export const checkTransport = z.superRefine((values: Transport, context) => {
  const isAllowed = (host: string) => values.allow_hosts?.includes(host) ?? true
  for (const path of [['url'], ['auth', 'token_url'], ['queue', 'url']]) {
    const text = path.reduce<unknown>(field, values)
    const url = typeof text === 'string' ? URL.parse(text) : null
    if (url === null) continue
    if (url.protocol === 'http:' && !values.allow_private)
      context.addIssue({ code: 'custom', path, message: 'must use https; http is only allowed with allow_private: true' })
    if (!isAllowed(bareHost(url.hostname)))
      context.addIssue({ code: 'custom', path, message: 'has a host that allow_hosts does not list; add the host' })
  }
  const path = ['target', 'host']
  const host = path.reduce<unknown>(field, values)
  if (typeof host === 'string' && !isAllowed(host))
    context.addIssue({ code: 'custom', path, message: 'is a host that allow_hosts does not list; add the host' })
})

interface Filters {
  readonly documents: boolean
  readonly entities?: readonly string[] | undefined
  readonly operations?: readonly string[] | undefined
}

/**
 * If documents are sent, checks that updates of the table `documents` are sent too. Such an update says that a
 * document was stored.
 */
export const checkDocuments = z.superRefine(({ documents, entities, operations }: Filters, context) => {
  const refuse = (path: string[], message: string) => context.addIssue({ code: 'custom', path, message })
  if (documents && entities?.includes('documents') === false)
    refuse(['entities'], 'must include documents, because documents: true sends their files')
  if (documents && operations?.includes('update') === false)
    refuse(['operations'], 'must include update, because a document is stored after it becomes known')
})
