import { lstatSync, readlinkSync, realpathSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { splitServers } from '../../base/postgres-url.ts'
import { readBytes } from './reading.ts'
import { invalid, ok, type Parsed } from './values.ts'

export type DatabaseUrl = { readonly kind: 'sqlite'; readonly path: string } | { readonly kind: 'postgres'; readonly url: string }

/** Linux follows at most this many symbolic links. */
const MAX_LINKS = 40

/** Parses `sqlite:PATH`, `sqlite:///PATH`, or `postgres://…`. */
export function databaseUrl(text: string): Parsed<DatabaseUrl> {
  if (/^sqlite:/i.test(text)) return sqlitePath(text.slice('sqlite:'.length))
  if (!/^postgres(?:ql)?:\/\//.test(text)) return invalid('must begin with sqlite: or postgres://')
  const parsed = postgresUrl(text)
  return 'value' in parsed ? ok({ kind: 'postgres', url: parsed.value }) : parsed
}

function sqlitePath(text: string): Parsed<DatabaseUrl> {
  const path = text.startsWith('///') ? text.slice(2) : text
  if (path.includes(':memory:') || path === '')
    return invalid('must name a file, such as sqlite:data/mirror.db; a database in memory would lose acknowledged deliveries')
  // Rejects leading and trailing spaces, because the driver removes such spaces. The opened file would then not be the
  // locked file.
  if (path.startsWith('//') || /[?#\0]|^file:|[/\\]$/i.test(path) || path !== path.trim()) {
    return invalid('must be sqlite: and the path of a file, without anything after it; write an absolute path as sqlite:///data/mirror.db')
  }
  return ok({ kind: 'sqlite', path: resolveLinks(path) })
}

/**
 * Resolves symbolic links as SQLite does, even if the file doesn't exist yet. Companion files, such as the lock against
 * a second `serve`, must be in the same folder as the real file.
 */
function resolveLinks(path: string, links = 0): string {
  const to = links < MAX_LINKS ? linkTarget(path) : null
  return to === null ? path : resolveLinks(to, links + 1)
}

function linkTarget(path: string): string | null {
  try {
    return lstatSync(path).isSymbolicLink() ? resolve(realpathSync(dirname(path)), readlinkSync(path)) : null
  } catch {
    // The file is missing or unreadable. Opening the database later reports the problem.
    return null
  }
}

/** Values of `sslmode` that the driver knows. LIBPQ_MODES: the values with `uselibpqcompat=true`. */
const MODES = ['disable', 'require', 'verify-ca', 'verify-full', 'no-verify']
const LIBPQ_MODES = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full']
const TLS_FILES = ['sslrootcert', 'sslcert', 'sslkey']
/**
 * Known TLS parameters. Unknown TLS parameters are rejected, because the driver ignores them, and a typo would turn TLS
 * off. `ssl` is in this list only because another check rejects it with its own message.
 */
const TLS_PARAMETERS = ['ssl', 'sslmode', 'sslnegotiation', ...TLS_FILES]

/** Values of `target_session_attrs` that require a writable server. */
const WRITING = ['read-write', 'primary']

/**
 * Parses a URL for the Postgres driver, with one or several servers (see `splitServers`), and checks its TLS
 * parameters.
 * Without `uselibpqcompat=true`, replaces `sslmode=require` and `sslmode=verify-ca` by `sslmode=verify-full`. The
 * driver treats all three alike, but logs a warning for the first two: a later version will change their meaning.
 */
export function postgresUrl(text: string): Parsed<string> {
  if (!/^postgres(?:ql)?:\/\//.test(text)) return invalid('must begin with postgres://')
  const servers = splitServers(text)
  if (!servers) return invalid('names an empty host, or not one port for each host; write several servers as h1:5432,h2:5432')
  // The driver accepts a user without a host, but URL.parse doesn't.
  const [url, ...others] = servers.map((server) => URL.parse(server.url.replace('@/', '@localhost/')))
  if (!url || others.includes(null))
    return invalid('is not a valid URL; in the user and the password write @ as %40, : as %3A, / as %2F, # as %23, ? as %3F and % as %25')
  const parameters = url.searchParams
  const libpq = parameters.get('uselibpqcompat') === 'true'
  const problems: string[] = []
  if (url.hash !== '') problems.push('must not hold a fragment; in a password write # as %23')
  if (parameters.has('ssl')) problems.push('must use sslmode=verify-full (or disable) instead of ssl')
  if ([...parameters.keys()].some((name) => /^(?:ssl|tls)/i.test(name) && !TLS_PARAMETERS.includes(name)))
    problems.push('has an unknown TLS parameter; known are sslmode, sslrootcert, sslcert and sslkey')
  const modes = libpq ? LIBPQ_MODES : MODES
  if (!parameters.getAll('sslmode').every((mode) => modes.includes(mode)))
    problems.push(`has an unknown sslmode; it must be one of ${modes.join(', ')}`)
  if (libpq && parameters.get('sslmode') === 'verify-ca' && !parameters.get('sslrootcert')) {
    problems.push('has sslmode=verify-ca without sslrootcert; set sslrootcert to the file of the CA')
  }
  for (const name of TLS_FILES) {
    const path = parameters.get(name)
    const file = path === null || path === '' ? null : readBytes(path)
    if (file && 'problem' in file) problems.push(`names a file in ${name} ${file.problem}`)
  }
  const wanted = parameters.get('target_session_attrs')
  if (wanted !== null && !WRITING.includes(wanted)) {
    problems.push('must have target_session_attrs=read-write or primary, or none: the mirror needs a writable server')
  }
  if (problems.length > 0) return invalid(...problems)
  return ok(libpq ? text : text.replace(/([?&]sslmode=)(?:require|verify-ca)(?=&|$)/g, '$1verify-full'))
}
