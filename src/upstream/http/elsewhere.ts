import { lookup as systemLookup } from 'node:dns'
import { type Dispatcher, errors, request } from 'undici'
import { abortable, limitedTo } from '../../base/abortable.ts'
import { PermanentError, TransientError } from '../../base/errors.ts'
import { bareHost, mayName } from '../network/address-guard.ts'
import { guardedConnector, type LookupAll, RefusedAddressError, refusedAddress } from '../network/guarded-connector.ts'
import { createDispatcher, type ProxySettings } from './dispatcher.ts'
import { DOCUMENT_TIMES, documentAnswer, runTake, type TakeDocument } from './document.ts'
import { EncodingError } from './encoding.ts'
import { codeOf } from './http.ts'

/** The link must not be followed. */
export class RefusedLinkError extends PermanentError {}

/** The settings don't list the link's host. */
export class UnlistedHostError extends RefusedLinkError {}

class LinkFailedError extends TransientError {}

interface ElsewhereOptions {
  /** Allowed hosts in lower case, with the port unless it is 443. */
  readonly hosts: readonly string[]
  readonly proxy: ProxySettings
  readonly lookup?: LookupAll
  /** Tests use this instead of guarded connections. */
  readonly dispatcher?: Dispatcher
}

const CONNECT_MS = 10_000
const REDIRECTS = 3
const FOR_DOCUMENTS = 'for documents'

/**
 * Fetches documents from hosts other than the service (traps 45, 76). Only uses https, listed hosts, and public
 * addresses. Never sends the token. Checks each redirect.
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
   * @throws RefusedLinkError if the link isn't allowed.
   * @throws LinkFailedError if no complete document arrived.
   * @throws errors of `take`.
   * @throws the reason of `signal` when it aborts.
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
    if (!this.#hosts.has(url.host)) throw new UnlistedHostError(unlistedHostText(url.host))
    const host = bareHost(url.hostname)
    if (!mayName(host, false)) throw new RefusedLinkError(refusedAddress(host, host, FOR_DOCUMENTS))
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
      const taken = await runTake(answer, take).finally(() => body.on('error', () => undefined).destroy())
      if ('error' in taken) throw new TakeFailed(taken.error)
      return taken
    } catch (error) {
      if (error instanceof TakeFailed) throw error.cause
      signal.throwIfAborted()
      if (error instanceof LinkFailedError) throw error
      if (error instanceof RefusedAddressError) throw new RefusedLinkError(refusedAddress(error.host, error.address, FOR_DOCUMENTS))
      if (error instanceof EncodingError) throw new LinkFailedError(`${url.host}: the answer ${error.message}`)
      const why = error instanceof errors.HeadersTimeoutError ? 'timeout' : codeOf(error)
      throw new LinkFailedError(`${url.host} sent no complete answer (${why})`)
    }
  }
}

/** Start of the error text for an unlisted host. Queries find such documents by this text. */
export const HOST_NOT_LISTED = 'DOCUMENT_HOSTS does not list '

export function unlistedHostText(host: string): string {
  return `${HOST_NOT_LISTED}${host}; add it to fetch the document`
}

/** @returns the host named in a message from `unlistedHostText`. */
export function unlistedHostIn(message: string): string {
  return message.slice(HOST_NOT_LISTED.length).split(';', 1)[0] ?? ''
}

/** Marks an error of `take`, to distinguish it from errors of the request. */
class TakeFailed extends Error {
  constructor(cause: unknown) {
    super('', { cause })
  }
}
