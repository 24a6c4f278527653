import { isIP } from 'node:net'
import { Agent, type buildConnector, type Dispatcher, EnvHttpProxyAgent, Pool } from 'undici'
import type { TlsContent } from '../network/guarded-connector.ts'

/** Proxies for outgoing requests. Hosts in `noProxy` are connected to directly. */
export interface ProxySettings {
  readonly httpsProxy?: string
  readonly httpProxy?: string
  readonly noProxy?: string
}

/** The proxy could not be connected to; the target is not at fault. */
export class ProxyAwayError extends Error {
  override readonly name = 'ProxyAwayError'
}

/**
 * Creates an undici dispatcher, direct or through the proxies; each proxy serves URLs of its own scheme.
 * @param pool options of the connections to each host; `connectTimeout` also limits a proxy's tunnel.
 * @param requestTls what `pool.connect` uses for TLS, for the connections that go through a tunnel.
 */
export function createDispatcher(
  proxy: ProxySettings,
  pool: Pool.Options & { readonly connectTimeout: number },
  requestTls: TlsContent = {},
): Dispatcher {
  // With undefined, undici would read the environment; with an empty text it does not.
  const { httpsProxy = '', httpProxy = '', noProxy = '' } = proxy
  if (!httpsProxy && !httpProxy) return new Agent(pool)
  // By default undici waits five minutes for a tunnel and blocks a connection meanwhile.
  const clientFactory = (origin: URL, { connect }: { connect?: buildConnector.connector }): Dispatcher =>
    new Pool(origin, { ...(connect && { connect: toProxy(connect) }), headersTimeout: pool.connectTimeout })
  const proxies = { httpsProxy, httpProxy, noProxy, clientFactory, requestTls }
  if (httpsProxy) return new EnvHttpProxyAgent({ ...pool, ...proxies })
  // By default undici uses the http proxy for https URLs too.
  const factory = (origin: string | URL, options: object): Dispatcher =>
    new URL(origin).protocol === 'https:' ? new Pool(origin, options) : new EnvHttpProxyAgent({ ...options, ...proxies })
  return new Agent({ ...pool, factory })
}

function toProxy(connect: buildConnector.connector): buildConnector.connector {
  return (options, done) => {
    const { servername, ...unnamed } = options
    // undici sends IP addresses as TLS server names, which newer Node versions refuse. The certificate is still checked.
    connect(isAddress(servername) ? unnamed : options, (...[error, socket]) => {
      if (error === null) return done(null, socket)
      done(new ProxyAwayError(`the proxy cannot be reached: ${'code' in error ? error.code : error.name}`, { cause: error }), null)
    })
  }
}

function isAddress(name = ''): boolean {
  return isIP(name.replace(/^\[|\]$/g, '')) !== 0
}
