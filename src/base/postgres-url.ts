/** Scheme, user and password, the list of hosts, and the rest of a URL that `new URL` does not take: several hosts with ports. */
const PARTS = /^(postgres(?:ql)?:\/\/)(?:([^/?#]*)@)?([^/?#]*)([^?#]*)(?:\?([^#]*))?(#.*)?$/s

/** Where one Postgres server is. */
export interface ServerUrl {
  /** Such as `db1.example:5432`, or the folder of its socket. */
  readonly name: string
  readonly url: string
}

/**
 * Splits a URL that names several servers as libpq does, `postgres://u:p@h1:5432,h2:5433/db`, or by lists in the parameters `host` and
 * `port`, into one URL for each server, in order. All else in it holds for each of them.
 * @returns a single server for any other text, unchanged; null when the lists do not fit together or a host in them is missing.
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
  // A URL without a host means this machine, as the driver reads it.
  const parsed = URL.parse(url.replace('@/', '@localhost/'))
  const host = parsed?.searchParams.get('host') || parsed?.hostname || 'localhost'
  return host.startsWith('/') ? host : `${host}:${parsed?.searchParams.get('port') || parsed?.port || '5432'}`
}
