import { readValue } from './reading.ts'
import { bad, good, type Parsed } from './values.ts'

export type DatabaseUrl = { readonly kind: 'sqlite'; readonly path: string } | { readonly kind: 'postgres'; readonly url: string }

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
  if (path.startsWith('//') || /[?#\0]|^file:|[/\\]$/i.test(path)) {
    return bad('must be sqlite: and the path of a file, without anything behind it; write an absolute one as sqlite:///data/mirror.db')
  }
  return good({ kind: 'sqlite', path })
}

/** What the driver understands by itself, and with `uselibpqcompat=true`. */
const MODES = ['disable', 'require', 'verify-ca', 'verify-full', 'no-verify']
const LIBPQ_MODES = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full']
const TLS_FILES = ['sslrootcert', 'sslcert', 'sslkey']

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
  const modes = libpq ? LIBPQ_MODES : MODES
  if (!parameters.getAll('sslmode').every((mode) => modes.includes(mode)))
    problems.push(`has an unknown sslmode; it must be one of ${modes.join(', ')}`)
  if (libpq && parameters.get('sslmode') === 'verify-ca' && !parameters.get('sslrootcert')) {
    problems.push('says sslmode=verify-ca without sslrootcert; name the file of the CA')
  }
  for (const name of TLS_FILES) {
    const path = parameters.get(name)
    const file = path === null || path === '' ? null : readValue(path)
    if (file && 'reason' in file) problems.push(`names a file in ${name} that cannot be read (${file.reason}); mend the path or its rights`)
  }
  if (problems.length > 0) return bad(...problems)
  return good(libpq ? text : text.replace(/([?&]sslmode=)(?:require|verify-ca)(?=&|$)/g, '$1verify-full'))
}
