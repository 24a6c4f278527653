import { lookup as systemLookup } from 'node:dns'
import type { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import type { Clock } from '../../base/clock.ts'
import type { DestinationConfig } from '../../config/config.ts'
import { createDispatcher, type ProxySettings } from '../../upstream/http/dispatcher.ts'
import { bareHost, mayName } from '../../upstream/network/address-guard.ts'
import { guardedConnector, type LookupAll, refusedAddress, type TlsContent } from '../../upstream/network/guarded-connector.ts'
import { ClientTls, type TlsFiles } from './client-tls.ts'
import { Exchange, type TransportResult } from './exchange.ts'

export type { TransportResult } from './exchange.ts'

/**
 * Share of a destination's timeout that must remain for a message. Earlier requests, such as for a token, use part of
 * the timeout. With less time, the message could be cut off, and its outcome would be unknown.
 */
export const LEAST_SHARE = 0.25

export interface OutgoingRequest {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** A stream needs a `content-length` header. */
  readonly body: string | Buffer | Readable | null
  /** Limit of the whole request, from connecting to the last byte of the answer. */
  readonly timeoutMs: number
}

/**
 * A destination's HTTP client. Verifies TLS, doesn't follow redirects, connects only to allowed addresses, and limits
 * the size of answers.
 */
export interface Transport {
  /** Never rejects. If `signal` aborts, there is still a result. */
  send(request: OutgoingRequest, signal: AbortSignal): Promise<TransportResult>
  close(): Promise<void>
}

export interface TransportOptions {
  readonly clock: Clock
  /** Maximum bytes that are read from an answer's body. */
  readonly bodyLimitBytes?: number
  /** Resolves host names, like `dns.lookup` with `all`. Tests pass their own function. */
  readonly lookup?: LookupAll
}

const NO_TLS: TlsContent = {}
const CONNECT_MS = 10_000
const NO_URL = 'the URL is not an http or https URL'
/** Default limit of an answer, in bytes. Enough for an error text. */
const BODY_LIMIT_BYTES = 256 * 1024
/**
 * Methods that HTTP lets a client repeat. If duplicates are harmful, the connection closes after a request with another
 * method. The next request then gets a new connection. On a reused connection that the target has closed, the outcome
 * of the request would be unknown.
 */
const REPEATABLE = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'])

/**
 * Opens a destination's HTTP client. Addresses are checked when connecting, so a later DNS answer can't redirect
 * requests. A proxy resolves names itself. With a proxy, only the URL's host is checked.
 * @param destination `allowHosts` are compared with the URL's host, without its port.
 */
export function openTransport(
  destination: Pick<DestinationConfig, 'allowPrivate' | 'allowHosts' | 'idempotent' | 'concurrency'> & { readonly tls?: TlsFiles | null },
  proxy: ProxySettings,
  options: TransportOptions,
): Transport {
  const { allowPrivate, allowHosts } = destination
  const { clock, bodyLimitBytes = BODY_LIMIT_BYTES, lookup = systemLookup as LookupAll } = options
  const dispatchers = new Dispatchers(destination.tls ? new ClientTls(destination.tls, clock) : null, (tls) => {
    const connect = guardedConnector(allowPrivate, CONNECT_MS, lookup, tls)
    return createDispatcher(proxy, { connect, connections: destination.concurrency, connectTimeout: CONNECT_MS, allowH2: false }, tls)
  })
  let target: Target = { url: '', refusal: NO_URL, origin: '', path: '' }
  return {
    send(request, signal) {
      // Most destinations have one URL, so the result for the previous URL is cached.
      if (request.url !== target.url) target = judge(request.url, allowPrivate, allowHosts)
      if (target.refusal !== null) return Promise.resolve({ type: 'not_sent', error: target.refusal, permanent: true })
      const current = dispatchers.current()
      if ('problem' in current) return Promise.resolve({ type: 'not_sent', error: current.problem, permanent: false })
      const reset = !destination.idempotent && !REPEATABLE.has(request.method)
      const exchange = new Exchange(clock, bodyLimitBytes, { timeoutMs: request.timeoutMs, signal })
      return exchange.run(current.dispatcher, optionsOf(request, target, reset))
    },
    async close() {
      await dispatchers.destroy()
    },
  }
}

/** A destination's connections. Connections with an earlier client certificate close after their requests. */
class Dispatchers {
  readonly #tls: ClientTls | null
  readonly #create: (tls: TlsContent) => Dispatcher
  readonly #open = new Set<Dispatcher>()
  #current: { readonly dispatcher: Dispatcher; readonly content: TlsContent } | null = null

  constructor(tls: ClientTls | null, create: (tls: TlsContent) => Dispatcher) {
    this.#tls = tls
    this.#create = create
  }

  current(): { readonly dispatcher: Dispatcher } | { readonly problem: string } {
    const found = this.#tls?.current() ?? { content: NO_TLS }
    if ('problem' in found) return found
    const former = this.#current
    if (former?.content === found.content) return former
    if (former !== null)
      void former.dispatcher.close().then(
        () => this.#open.delete(former.dispatcher),
        () => undefined,
      )
    this.#current = { dispatcher: this.#create(found.content), content: found.content }
    this.#open.add(this.#current.dispatcher)
    return this.#current
  }

  async destroy(): Promise<void> {
    await Promise.all([...this.#open].map((dispatcher) => dispatcher.destroy()))
  }
}

/** A request's target. `refusal` is the reason if the target isn't allowed. */
interface Target {
  readonly url: string
  readonly refusal: string | null
  readonly origin: string
  readonly path: string
}

function optionsOf(request: OutgoingRequest, { origin, path }: Target, reset: boolean): Dispatcher.DispatchOptions {
  return {
    origin,
    path,
    method: request.method,
    headers: { 'user-agent': 'submission-mirror', accept: '*/*', 'accept-encoding': 'identity', ...request.headers },
    body: request.body,
    // Off, because the exchange limits the whole request.
    headersTimeout: 0,
    bodyTimeout: 0,
    ...(reset && { reset }),
  }
}

function judge(url: string, allowPrivate: boolean, allowHosts: readonly string[] | null): Target {
  const parsed = URL.parse(url)
  if (parsed === null || (parsed.protocol !== 'https:' && parsed.protocol !== 'http:'))
    return { url, refusal: NO_URL, origin: '', path: '' }
  const { origin, pathname, search } = parsed
  return { url, refusal: refusalOf(parsed, allowPrivate, allowHosts), origin, path: `${pathname}${search}` }
}

function refusalOf({ protocol, hostname, origin }: URL, allowPrivate: boolean, allowHosts: readonly string[] | null): string | null {
  const host = bareHost(hostname)
  if (allowHosts !== null && !allowHosts.includes(host)) return `allow_hosts does not list ${host}; add the host if you trust it`
  // Anyone on the network could read plain HTTP. URLs from templates are checked only here.
  if (protocol === 'http:' && !allowPrivate) return `${origin} is plain http, which needs allow_private: true; use https`
  return mayName(host, allowPrivate) ? null : refusedAddress(host, host)
}
