import { isIP } from 'node:net'
import { Agent, type buildConnector, type Dispatcher, EnvHttpProxyAgent, Pool } from 'undici'

/** Where requests go through; a host that `noProxy` names is asked directly. */
export interface ProxySettings {
  readonly httpsProxy?: string
  readonly httpProxy?: string
  readonly noProxy?: string
}

/** No connection to the proxy came about: what is wrong is not the target's. */
export class ProxyAwayError extends Error {
  override readonly name = 'ProxyAwayError'
}

/**
 * Opens what sends requests, directly or through the proxies, each of which is for URLs of its own scheme.
 * @param pool for the connections to each host; `connectTimeout` holds for a proxy's tunnel as well.
 */
export function createDispatcher(proxy: ProxySettings, pool: Pool.Options & { readonly connectTimeout: number }): Dispatcher {
  // Empty text, unlike undefined, keeps undici from looking into the environment by itself.
  const { httpsProxy = '', httpProxy = '', noProxy = '' } = proxy
  if (!httpsProxy && !httpProxy) return new Agent(pool)
  // undici would wait five minutes for a tunnel, and hold a connection's place all the while, though everybody has given up on it.
  const clientFactory = (origin: URL, { connect }: { connect?: buildConnector.connector }): Dispatcher =>
    new Pool(origin, { ...(connect && { connect: toProxy(connect) }), headersTimeout: pool.connectTimeout })
  const proxies = { httpsProxy, httpProxy, noProxy, clientFactory }
  if (httpsProxy) return new EnvHttpProxyAgent({ ...pool, ...proxies })
  // undici would take the proxy for http URLs for https ones too.
  const factory = (origin: string | URL, options: object): Dispatcher =>
    new URL(origin).protocol === 'https:' ? new Pool(origin, options) : new EnvHttpProxyAgent({ ...options, ...proxies })
  return new Agent({ ...pool, factory })
}

function toProxy(connect: buildConnector.connector): buildConnector.connector {
  return (options, done) => {
    const { servername, ...unnamed } = options
    // undici names an address to TLS, too, which newer Nodes refuse; the certificate is held against it all the same.
    connect(isAddress(servername) ? unnamed : options, (...[error, socket]) => {
      if (error === null) return done(null, socket)
      done(new ProxyAwayError(`the proxy cannot be reached: ${'code' in error ? error.code : error.name}`, { cause: error }), null)
    })
  }
}

function isAddress(name = ''): boolean {
  return isIP(name.replace(/^\[|\]$/g, '')) !== 0
}
