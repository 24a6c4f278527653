import { lookup as systemLookup } from 'node:dns'
import { type Dispatcher, request } from 'undici'
import { abortable, limitedTo } from '../../base/abortable.ts'
import { PermanentError, TransientError } from '../../base/errors.ts'
import { bareHost, mayName } from '../network/address-guard.ts'
import { guardedConnector, type LookupAll, RefusedAddressError, refusedAddress } from '../network/guarded-connector.ts'
import { createDispatcher, type ProxySettings } from './dispatcher.ts'
import { DOCUMENT_TIMES, documentAnswer, type TakeDocument, takenFrom } from './document.ts'
import { EncodingError } from './encoding.ts'
import { codeOf } from './http.ts'

/** A link leads where nothing is fetched from. */
export class RefusedLinkError extends PermanentError {}

/** The settings do not name the host of a link. */
export class UnnamedHostError extends RefusedLinkError {}

/** The host of a link does not give the document. */
export class LinkFailedError extends TransientError {}

export interface ElsewhereOptions {
  /** Hosts that documents may lie on, in lower case, with a port where it is not 443. */
  readonly hosts: readonly string[]
  readonly proxy: ProxySettings
  readonly lookup?: LookupAll
  /** Replaces the guarded connections, in tests. */
  readonly dispatcher?: Dispatcher
}

const CONNECT_MS = 10_000
const REDIRECTS = 3

/**
 * Fetches documents that lie on other hosts than the service's: over https, from hosts that the settings name, never from a private address,
 * and always without the token (traps 45, 76). Each redirect is judged anew.
 */
export class Elsewhere {
  readonly #hosts: ReadonlySet<string>
  readonly #dispatcher: Dispatcher

  constructor({ hosts, proxy, lookup = systemLookup as LookupAll, dispatcher }: ElsewhereOptions) {
    this.#hosts = new Set(hosts)
    const connect = guardedConnector(false, CONNECT_MS, lookup)
    this.#dispatcher = dispatcher ?? createDispatcher(proxy, { connect, connectTimeout: CONNECT_MS, allowH2: false })
  }

  /**
   * @throws RefusedLinkError for a link that is not followed; LinkFailedError when the host gives no whole document; what `take` throws; the
   * reason of `signal` when it aborts.
   */
  async get<T>(link: string, take: TakeDocument<T>, signal: AbortSignal): Promise<T> {
    let url = this.#judge(link, null)
    for (let hops = 0; hops <= REDIRECTS; hops++) {
      const end = await this.#once(url, take, signal)
      if ('value' in end) return end.value
      url = this.#judge(end.location, url)
    }
    throw new LinkFailedError(`${url.host} redirects more than ${REDIRECTS} times`)
  }

  async close(): Promise<void> {
    await this.#dispatcher.destroy()
  }

  #judge(link: string, from: URL | null): URL {
    const url = URL.parse(link, from?.href)
    if (url === null) throw new RefusedLinkError('its link is not a URL')
    if (url.protocol !== 'https:') throw new RefusedLinkError(`its link leads to ${url.protocol}//, and only https is followed`)
    if (url.username !== '' || url.password !== '') throw new RefusedLinkError('its link holds a password, and is not followed')
    if (!this.#hosts.has(url.host)) throw new UnnamedHostError(hostNotNamed(url.host))
    const host = bareHost(url.hostname)
    if (!mayName(host, false)) throw new RefusedLinkError(refusedAddress(host, host))
    return url
  }

  async #once<T>(url: URL, take: TakeDocument<T>, signal: AbortSignal): Promise<{ value: T } | { location: string }> {
    const within = limitedTo(DOCUMENT_TIMES.overallMs, signal)
    try {
      const headers = { accept: '*/*', 'accept-encoding': 'identity', 'user-agent': 'submission-mirror' }
      const times = { headersTimeout: DOCUMENT_TIMES.silentMs, bodyTimeout: DOCUMENT_TIMES.silentMs }
      const sent = request(url, { method: 'GET', headers, dispatcher: this.#dispatcher, signal: within, ...times })
      const { statusCode, headers: given, body } = await abortable(sent, within)
      const answer = documentAnswer(statusCode, given, body)
      if (statusCode < 200 || statusCode >= 300) body.on('error', () => undefined).destroy()
      if (statusCode >= 300 && statusCode < 400 && answer.location !== null) return { location: answer.location }
      if (statusCode < 200 || statusCode >= 300) throw new LinkFailedError(`${url.host} answered ${statusCode}`)
      const taken = await takenFrom(answer, take).finally(() => body.on('error', () => undefined).destroy())
      if ('error' in taken) throw new TakeFailed(taken.error)
      return taken
    } catch (error) {
      if (error instanceof TakeFailed) throw error.cause
      signal.throwIfAborted()
      if (error instanceof LinkFailedError) throw error
      if (error instanceof RefusedAddressError) throw new RefusedLinkError(error.message)
      if (error instanceof EncodingError) throw new LinkFailedError(`${url.host}: the answer ${error.message}`)
      throw new LinkFailedError(`${url.host} gives no whole answer (${codeOf(error)})`)
    }
  }
}

/** How the message for a host that the settings do not name begins. Stored as the document's error, it is how such documents are found again. */
export const HOST_NOT_NAMED = 'DOCUMENT_HOSTS does not name '

/** The message for a host that the settings do not name. */
export function hostNotNamed(host: string): string {
  return `${HOST_NOT_NAMED}${host}; add it there to have the document fetched`
}

/** @returns the host of a message of `hostNotNamed`. */
export function hostNotNamedIn(message: string): string {
  return message.slice(HOST_NOT_NAMED.length).split(';', 1)[0] ?? ''
}

/** Carries an error of `take` past the errors of the request. */
class TakeFailed extends Error {
  constructor(cause: unknown) {
    super('', { cause })
  }
}
