import { type Dispatcher, request } from 'undici'
import { abortable } from '../../base/abortable.ts'
import { PermanentError } from '../../base/errors.ts'
import { isReservedPath, urlUnder } from '../../base/service-http.ts'
import type { HttpAnswer } from './answer.ts'
import { createDispatcher, ProxyAwayError, type ProxySettings } from './dispatcher.ts'
import { DOCUMENT_TIMES, type DocumentAnswer, documentAnswer } from './document.ts'
import { decodedBody, EncodingError, encodingsOf } from './encoding.ts'
import { UpstreamTransientError } from './errors.ts'
import { type Call, operations, pathOf } from './operations.ts'

/** Timeouts of a request, in milliseconds. */
export interface Timeouts {
  readonly connectMs: number
  /** Until the first byte of the answer, including connecting. */
  readonly headersMs: number
  /** Until the last byte. */
  readonly overallMs: number
}

export interface HttpOptions {
  readonly baseUrl: string
  readonly proxy: ProxySettings
  readonly timeouts: Timeouts
  /** Limit of a body. */
  readonly bodyLimitBytes: number
}

/** The parts of a request beyond its operation. */
export interface Parts {
  readonly query?: Iterable<readonly [name: string, value: string]>
  /** Replaces the operation's path, for probes. It must stay below the base URL. */
  readonly path?: string
  /** Receives the body of a 2xx or 3xx answer instead of returning it as text. */
  readonly take?: (answer: DocumentAnswer) => Promise<void>
  /** Default: the client's limit. */
  readonly bodyLimitBytes?: number | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

/** Sends requests only to an account's base URL. Redirects are not followed (trap 45). */
export class Http {
  readonly #options: HttpOptions
  readonly #dispatcher: Dispatcher

  constructor(options: HttpOptions) {
    this.#options = options
    // On a single HTTP/2 connection, one hanging answer could delay the others.
    this.#dispatcher = createDispatcher(options.proxy, { connectTimeout: options.timeouts.connectMs, allowH2: false })
  }

  /**
   * Sends one request and reads its answer with any status. The body of a failure status is null if unreadable.
   * @throws UpstreamTransientError: `network` without a complete answer, `oversized` over the body limit, `unavailable` if undecodable; the
   * abort reason of `signal`.
   */
  async send(call: Call, parts: Parts, signal?: AbortSignal): Promise<HttpAnswer> {
    signal?.throwIfAborted()
    const { baseUrl, timeouts, bodyLimitBytes } = this.#options
    const url = urlUnder(baseUrl, parts.path ?? pathOf(call), parts.query)
    if (url === null) throw new PermanentError('refused a path that leads away from the base URL')
    if (parts.path !== undefined && isReservedPath(parts.path)) {
      throw new PermanentError('refused a path of /oauth or /broker/appetite, which exchange secrets or count against a daily limit')
    }
    const stop = new AbortController()
    let timeout: string | null = null
    const stopAfter = (ms: number, what: string) =>
      setTimeout(() => {
        timeout = `${what} within ${ms} ms`
        stop.abort()
      }, ms)
    const headersTimer = stopAfter(timeouts.headersMs, 'no answer')
    const overallTimer = stopAfter(parts.take ? DOCUMENT_TIMES.overallMs : timeouts.overallMs, 'no whole answer')
    const abort = () => stop.abort()
    signal?.addEventListener('abort', abort, { once: true })
    try {
      const sent = request(url, {
        method: operations[call.operation].method,
        headers: { accept: 'application/json', 'accept-encoding': 'identity', 'user-agent': 'submission-mirror', ...parts.headers },
        body: parts.body ?? null,
        dispatcher: this.#dispatcher,
        signal: stop.signal,
        ...(parts.take && { bodyTimeout: DOCUMENT_TIMES.silentMs }),
      })
      // undici ignores the signal until it has a connection, which a proxy may never provide.
      const { statusCode, headers, body: stream } = await abortable(sent, stop.signal)
      clearTimeout(headersTimer)
      if (parts.take && statusCode >= 200 && statusCode < 400) {
        await parts.take(documentAnswer(statusCode, headers, stream)).finally(() => stream.on('error', () => undefined).destroy())
        signal?.throwIfAborted()
        return { status: statusCode, headers, body: null }
      }
      const plain = decodedBody(stream, encodingsOf(headers['content-encoding']))
      const reading = this.#read(call, plain, parts.bodyLimitBytes ?? bodyLimitBytes)
      const body = await (statusCode >= 200 && statusCode < 300 ? reading : reading.catch(() => null))
      signal?.throwIfAborted()
      return { status: statusCode, headers, body }
    } catch (error) {
      signal?.throwIfAborted()
      if (error instanceof UpstreamTransientError) throw error
      if (error instanceof EncodingError) throw new UpstreamTransientError('unavailable', call, `the answer ${error.message}`)
      throw new UpstreamTransientError('network', call, timeout ?? `no answer (${codeOf(error)})`)
    } finally {
      clearTimeout(headersTimer)
      clearTimeout(overallTimer)
      signal?.removeEventListener('abort', abort)
    }
  }

  /** Aborts requests in flight, which fail as `network`. */
  async close(): Promise<void> {
    await this.#dispatcher.destroy()
  }

  async #read(call: Call, body: AsyncIterable<Buffer>, limitBytes: number): Promise<string> {
    const chunks: Buffer[] = []
    let size = 0
    for await (const chunk of body) {
      size += chunk.length
      if (size > limitBytes) {
        throw new UpstreamTransientError('oversized', call, `the answer is longer than ${limitBytes} bytes`)
      }
      chunks.push(chunk)
    }
    return new TextDecoder().decode(Buffer.concat(chunks))
  }
}

/** undici's message for a refused proxy request. */
const PROXY_ANSWER = /^Proxy (?:response|Authentication Required) \((\d{3})\)/

/** undici codes of proxy tunnels; answers have our own timeouts. */
const TUNNEL_FAULTS: Readonly<Record<string, string>> = {
  UND_ERR_PRX_CONN: 'the proxy broke off the connection',
  UND_ERR_HEADERS_TIMEOUT: 'the proxy did not answer',
}

/** @returns the proxy's fault, or null. */
export function proxyFault(error: unknown): string | null {
  if (!(error instanceof Error)) return null
  if (error instanceof ProxyAwayError) return error.message
  const status = PROXY_ANSWER.exec(error.message)?.[1]
  if (status !== undefined) return `the proxy answered ${status}`
  return TUNNEL_FAULTS['code' in error ? String(error.code) : ''] ?? null
}

/** @returns the error's code, such as ECONNREFUSED. Foreign messages may contain secrets. */
export function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  return proxyFault(error) ?? ('code' in error && typeof error.code === 'string' ? error.code : error.name)
}
