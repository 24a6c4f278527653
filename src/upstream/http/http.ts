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

/** Timeouts of a request, in ms. */
export interface Timeouts {
  readonly connectMs: number
  /** Maximum time until the answer begins, in ms, including the time to connect. */
  readonly headersMs: number
  /** Maximum time until the answer is complete, in ms. */
  readonly overallMs: number
}

export interface HttpOptions {
  readonly baseUrl: string
  readonly proxy: ProxySettings
  readonly timeouts: Timeouts
  /** Limit of an answer's body. */
  readonly bodyLimitBytes: number
}

/** The parts of a request beyond its operation. */
export interface Parts {
  readonly query?: Iterable<readonly [name: string, value: string]>
  /** For probes, and for documents without an id: replaces the operation's path. Must be below the base URL. */
  readonly path?: string
  /** Receives the body of a 2xx or 3xx answer. Without `take`, the body is returned as text. */
  readonly take?: (answer: DocumentAnswer) => Promise<void>
  /** Default: the client's limit. */
  readonly bodyLimitBytes?: number | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

/** Sends requests below an account's base URL only. Redirects are not followed (trap 45). */
export class Http {
  readonly #options: HttpOptions
  readonly #dispatcher: Dispatcher

  constructor(options: HttpOptions) {
    this.#options = options
    // HTTP/2 is off. On a single HTTP/2 connection, one hanging answer could delay all others.
    this.#dispatcher = createDispatcher(options.proxy, { connectTimeout: options.timeouts.connectMs, allowH2: false })
  }

  /**
   * Sends one request and reads its answer, which may have any status. `body` is null if `take` received the body. Also
   * null if the answer is a failure and its body can't be read.
   * @throws UpstreamTransientError `network`: no complete answer arrived. `oversized`: the body is over the limit.
   * `unavailable`: the body can't be decoded.
   * @throws the reason of `signal` when it aborts.
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
    const overallTimer = stopAfter(parts.take ? DOCUMENT_TIMES.overallMs : timeouts.overallMs, 'no complete answer')
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
      // undici ignores the signal until it has a connection. A proxy may never open a connection, so `abortable`
      // watches the signal.
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

  /** Aborts requests in flight. They fail with class `network`. */
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

/** Matches undici's message for a request that the proxy refused. */
const PROXY_ANSWER = /^Proxy (?:response|Authentication Required) \((\d{3})\)/

/**
 * undici's error codes for failed proxy tunnels. In `Http`, a headers timeout can only come from a tunnel, because the
 * timeouts of `Http` end an answer earlier.
 */
const TUNNEL_FAULTS: Readonly<Record<string, string>> = {
  UND_ERR_PRX_CONN: 'the proxy broke off the connection',
  UND_ERR_HEADERS_TIMEOUT: 'the proxy did not answer',
}

/** @returns a description of what the proxy did wrong; null if the proxy didn't cause the error. */
export function proxyFault(error: unknown): string | null {
  if (!(error instanceof Error)) return null
  if (error instanceof ProxyAwayError) return error.message
  const status = PROXY_ANSWER.exec(error.message)?.[1]
  if (status !== undefined) return `the proxy answered ${status}`
  return TUNNEL_FAULTS['code' in error ? String(error.code) : ''] ?? null
}

/** @returns the error's code, such as ECONNREFUSED. The message isn't used, because it may contain secrets. */
export function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  return proxyFault(error) ?? ('code' in error && typeof error.code === 'string' ? error.code : error.name)
}
