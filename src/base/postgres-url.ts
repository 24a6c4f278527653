/**
 * Matches scheme, login, hosts, path, query, and fragment. `new URL` rejects a URL that lists several hosts with ports.
 */
const PARTS = /^(postgres(?:ql)?:\/\/)(?:([^/?#]*)@)?([^/?#]*)([^?#]*)(?:\?([^#]*))?(#.*)?$/s

export interface ServerUrl {
  /** Host and port, such as `db1.example:5432`, or the folder of a Unix socket. */
  readonly name: string
  readonly url: string
}

/**
 * Splits a libpq URL with several servers into one URL for each server, in order. Such a URL is
 * `postgres://u:p@h1:5432,h2:5433/db`, or has lists in its parameters `host` and `port`. If `text` names only one
 * server, its URL is unchanged.
 * @returns null if a host is missing, or if there are several ports but not one for each host.
 */
export function splitServers(text: string): readonly ServerUrl[] | null {
  const [, scheme = '', user, authority = '', path = '', query, fragment = ''] = PARTS.exec(text) ?? []
  const parameters = new URLSearchParams(query)
  const listed = parameters.get('host')?.split(',') ?? []
  const ports = parameters.get('port')?.split(',') ?? []
  const addresses = listed.length > 0 ? [] : authority.split(',')
  const count = Math.max(listed.length, addresses.length)
  if (count <= 1 && ports.length <= 1) return [{ name: nameOf(text), url: text }]
  if ((ports.length > 1 && ports.length !== count) || [...listed, ...addresses].some((host) => host === '' || host.startsWith(':')))
    return null
  const login = user === undefined ? '' : `${user}@`
  return Array.from({ length: count }, (_, i) => {
    const own = new URLSearchParams(parameters)
    if (listed[i] !== undefined) own.set('host', listed[i])
    if (ports.length > 0) own.set('port', ports[i] ?? ports[0] ?? '')
    const search = own.size > 0 ? `?${own}` : ''
    const url = `${scheme}${login}${addresses[i] ?? ''}${path}${search}${fragment}`
    return { name: nameOf(url), url }
  })
}

function nameOf(url: string): string {
  // The driver reads a missing host as localhost. `URL.parse` rejects a user without a host, so localhost is inserted.
  const parsed = URL.parse(url.replace('@/', '@localhost/'))
  const host = parsed?.searchParams.get('host') || parsed?.hostname || 'localhost'
  return host.startsWith('/') ? host : `${host}:${parsed?.searchParams.get('port') || parsed?.port || '5432'}`
}
