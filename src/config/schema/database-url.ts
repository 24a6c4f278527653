import { lstatSync, readlinkSync, realpathSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { readBytes } from '../sources/reading.ts'
import { bad, good, type Parsed } from './values.ts'

export type DatabaseUrl = { readonly kind: 'sqlite'; readonly path: string } | { readonly kind: 'postgres'; readonly url: string }

/** More links in a row are a circle, as for the system. */
const MOST_LINKS = 40

/** Where the mirror lives: `sqlite:PATH` (or `sqlite:///PATH`), or `postgres://…`. */
export function databaseUrl(text: string): Parsed<DatabaseUrl> {
  if (/^sqlite:/i.test(text)) return sqlitePath(text.slice('sqlite:'.length))
  if (!/^postgres(?:ql)?:\/\//.test(text)) return bad('must begin with sqlite: or postgres://')
  const parsed = postgresUrl(text)
  return 'value' in parsed ? good({ kind: 'postgres', url: parsed.value }) : parsed
}

function sqlitePath(text: string): Parsed<DatabaseUrl> {
  const path = text.startsWith('///') ? text.slice(2) : text
  if (path.includes(':memory:') || path === '')
    return bad('must name a file, such as sqlite:data/mirror.db; memory would lose what was acknowledged')
  // The driver would cut spaces off at both ends, and open another file than the one that is locked.
  if (path.startsWith('//') || /[?#\0]|^file:|[/\\]$/i.test(path) || path !== path.trim()) {
    return bad('must be sqlite: and the path of a file, without anything behind it; write an absolute one as sqlite:///data/mirror.db')
  }
  return good({ kind: 'sqlite', path: followed(path) })
}

/**
 * SQLite follows a link, also one to a file that is not there yet: what belongs to a database, such as the lock that keeps a second
 * `serve` out, lies beside the file itself. @returns that file's path.
 */
function followed(path: string, links = 0): string {
  const to = links < MOST_LINKS ? linkOf(path) : null
  return to === null ? path : followed(to, links + 1)
}

/** @returns where a link leads; null for whatever is none. */
function linkOf(path: string): string | null {
  try {
    return lstatSync(path).isSymbolicLink() ? resolve(realpathSync(dirname(path)), readlinkSync(path)) : null
  } catch {
    // It is not there, or not for us: opening it tells.
    return null
  }
}

/** What the driver understands by itself, and with `uselibpqcompat=true`. */
const MODES = ['disable', 'require', 'verify-ca', 'verify-full', 'no-verify']
const LIBPQ_MODES = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full']
const TLS_FILES = ['sslrootcert', 'sslcert', 'sslkey']
/** With `ssl`, which has a line of its own. The driver takes no notice of a parameter that it does not know: a slip would leave TLS out. */
const TLS_PARAMETERS = ['ssl', 'sslmode', 'sslnegotiation', ...TLS_FILES]

/**
 * A URL for the Postgres driver, with its TLS parameters checked here, where a mistake can be told in one line. The driver takes
 * `require` and `verify-ca` for `verify-full` and warns that it will not do so for ever: the URL says `verify-full` from here on.
 */
export function postgresUrl(text: string): Parsed<string> {
  if (!/^postgres(?:ql)?:\/\//.test(text)) return bad('must begin with postgres://')
  // The driver allows a user without a host, which a URL cannot have.
  const url = URL.parse(text.replace('@/', '@localhost/'))
  if (!url) return bad('is no valid URL; in user and password write @ as %40, : as %3A, / as %2F, # as %23, ? as %3F and % as %25')
  const parameters = url.searchParams
  const libpq = parameters.get('uselibpqcompat') === 'true'
  const problems: string[] = []
  if (url.hash !== '') problems.push('must not hold a fragment; in a password write # as %23')
  if (parameters.has('ssl')) problems.push('must say sslmode=verify-full (or disable) in place of ssl')
  if ([...parameters.keys()].some((name) => /^(?:ssl|tls)/i.test(name) && !TLS_PARAMETERS.includes(name)))
    problems.push('has a parameter for TLS that means nothing here; those that do are sslmode, sslrootcert, sslcert and sslkey')
  const modes = libpq ? LIBPQ_MODES : MODES
  if (!parameters.getAll('sslmode').every((mode) => modes.includes(mode)))
    problems.push(`has an unknown sslmode; it must be one of ${modes.join(', ')}`)
  if (libpq && parameters.get('sslmode') === 'verify-ca' && !parameters.get('sslrootcert')) {
    problems.push('says sslmode=verify-ca without sslrootcert; name the file of the CA')
  }
  for (const name of TLS_FILES) {
    const path = parameters.get(name)
    const file = path === null || path === '' ? null : readBytes(path)
    if (file && 'problem' in file) problems.push(`names a file in ${name} ${file.problem}`)
  }
  if (problems.length > 0) return bad(...problems)
  return good(libpq ? text : text.replace(/([?&]sslmode=)(?:require|verify-ca)(?=&|$)/g, '$1verify-full'))
}
