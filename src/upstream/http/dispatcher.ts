import { isIP } from 'node:net'
import { Agent, type buildConnector, type Dispatcher, EnvHttpProxyAgent, Pool } from 'undici'
import type { TlsContent } from '../network/guarded-connector.ts'

/** Proxies for outgoing requests. Hosts in `noProxy` are contacted directly. */
export interface ProxySettings {
  readonly httpsProxy?: string
  readonly httpProxy?: string
  readonly noProxy?: string
}

/** The proxy can't be reached. The target may work. */
export class ProxyAwayError extends Error {
  override readonly name = 'ProxyAwayError'
}

/**
 * Creates an undici dispatcher that connects directly, or through the proxy for the URL's scheme.
 * @param pool connection options for each host. `connectTimeout` also limits how long a proxy may take to
 * open a tunnel.
 * @param requestTls TLS options for connections to the target through a tunnel. Pass the same options as for
 * direct connections (`pool.connect`).
 */
export function createDispatcher(
  proxy: ProxySettings,
  pool: Pool.Options & { readonly connectTimeout: number },
  requestTls: TlsContent = {},
): Dispatcher {
  // If one of these settings is undefined, undici reads it from the environment. An empty string prevents this.
  const { httpsProxy = '', httpProxy = '', noProxy = '' } = proxy
  if (!httpsProxy && !httpProxy) return new Agent(pool)
  // By default, undici waits five minutes for a tunnel, which blocks a connection.
  const clientFactory = (origin: URL, { connect }: { connect?: buildConnector.connector }): Dispatcher =>
    new Pool(origin, { ...(connect && { connect: toProxy(connect) }), headersTimeout: pool.connectTimeout })
  const proxies = { httpsProxy, httpProxy, noProxy, clientFactory, requestTls }
  if (httpsProxy) return new EnvHttpProxyAgent({ ...pool, ...proxies })
  // By default, undici uses the http proxy for https URLs too.
  const factory = (origin: string | URL, options: object): Dispatcher =>
    new URL(origin).protocol === 'https:' ? new Pool(origin, options) : new EnvHttpProxyAgent({ ...options, ...proxies })
  return new Agent({ ...pool, factory })
}

function toProxy(connect: buildConnector.connector): buildConnector.connector {
  return (options, done) => {
    const { servername, ...unnamed } = options
    // undici sends an IP address as TLS server name, which newer Node versions refuse. The certificate
    // is still checked.
    connect(isAddress(servername) ? unnamed : options, (...[error, socket]) => {
      if (error === null) return done(null, socket)
      done(new ProxyAwayError(`the proxy cannot be reached: ${'code' in error ? error.code : error.name}`, { cause: error }), null)
    })
  }
}

function isAddress(name = ''): boolean {
  return isIP(name.replace(/^\[|\]$/g, '')) !== 0
}
