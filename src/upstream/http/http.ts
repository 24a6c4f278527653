import { type Dispatcher, request } from 'undici'
import { abortable } from '../../base/abortable.ts'
import type { HttpAnswer } from './answer.ts'
import { createDispatcher, ProxyAwayError, type ProxySettings } from './dispatcher.ts'
import { UpstreamTransientError } from './errors.ts'
import { type Call, operations, pathOf } from './operations.ts'
import { urlUnder } from './url.ts'

/** How long each part of a request may take, in milliseconds. */
export interface Timeouts {
  readonly connectMs: number
  /** From sending to the first byte of the answer, connecting included. */
  readonly headersMs: number
  /** The whole request, to the last byte of the body. */
  readonly overallMs: number
}

export interface HttpOptions {
  readonly baseUrl: string
  readonly proxy: ProxySettings
  readonly timeouts: Timeouts
  /** A longer body is not read to its end. */
  readonly bodyLimitBytes: number
}

/** What is sent beside the method and the path, which the operation names. */
export interface Parts {
  readonly query?: Iterable<readonly [name: string, value: string]>
  /** In place of the operation's path: what the settings name to be probed. It stays below the base URL like any other. */
  readonly path?: string
  /** In place of the usual limit. */
  readonly bodyLimitBytes?: number | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

/** Cuts a request off when one of its times has run out, or when the caller wants no answer any more. */
class Deadline {
  readonly #cut = new AbortController()
  readonly #caller: AbortSignal | undefined
  readonly #headers: NodeJS.Timeout
  readonly #overall: NodeJS.Timeout
  #missed: string | null = null

  constructor(timeouts: Timeouts, caller: AbortSignal | undefined) {
    this.#caller = caller
    this.#headers = setTimeout(() => this.#miss(`no answer within ${timeouts.headersMs} ms`), timeouts.headersMs)
    this.#overall = setTimeout(() => this.#miss(`no whole answer within ${timeouts.overallMs} ms`), timeouts.overallMs)
    caller?.addEventListener('abort', this.#abort, { once: true })
  }

  get signal(): AbortSignal {
    return this.#cut.signal
  }

  /** Which time ran out, when one did. */
  get missed(): string | null {
    return this.#missed
  }

  headersArrived(): void {
    clearTimeout(this.#headers)
  }

  end(): void {
    clearTimeout(this.#headers)
    clearTimeout(this.#overall)
    this.#caller?.removeEventListener('abort', this.#abort)
  }

  readonly #abort = (): void => this.#cut.abort()

  #miss(what: string): void {
    this.#missed = what
    this.#cut.abort()
  }
}

/**
 * Sends requests to the base URL of one account, and nowhere else: there is no way to name another host, and a redirect is
 * an answer like any other, which is not followed (trap 45).
 */
export class Http {
  readonly #options: HttpOptions
  readonly #dispatcher: Dispatcher

  constructor(options: HttpOptions) {
    this.#options = options
    // HTTP/1.1: with one connection for everything, one hanging answer could hold up the others.
    this.#dispatcher = createDispatcher(options.proxy, { connectTimeout: options.timeouts.connectMs, allowH2: false })
  }

  /**
   * Sends one request and reads its answer, whatever its status.
   * @throws UpstreamTransientError `network` when there is no whole answer, `oversized` when the body is over the limit.
   * For a status that is no success the status alone is enough: a body that cannot be read is null then.
   * @throws the reason of `signal` when it aborts.
   */
  async send(call: Call, parts: Parts, signal?: AbortSignal): Promise<HttpAnswer> {
    signal?.throwIfAborted()
    const deadline = new Deadline(this.#options.timeouts, signal)
    try {
      const url = urlUnder(this.#options.baseUrl, parts.path ?? pathOf(call.operation, call.submissionId), parts.query)
      const asked = request(url, {
        method: operations[call.operation].method,
        headers: { accept: 'application/json', 'accept-encoding': 'identity', 'user-agent': 'submission-mirror', ...parts.headers },
        body: parts.body ?? null,
        dispatcher: this.#dispatcher,
        signal: deadline.signal,
      })
      // A request heeds its signal only from when it has its connection, and a proxy may take for ever to give one.
      const answer = await abortable(asked, deadline.signal)
      deadline.headersArrived()
      const success = answer.statusCode >= 200 && answer.statusCode < 300
      const limit = parts.bodyLimitBytes ?? this.#options.bodyLimitBytes
      const body = success ? await this.#read(call, answer.body, limit) : await this.#read(call, answer.body, limit).catch(() => null)
      signal?.throwIfAborted()
      return { status: answer.statusCode, headers: answer.headers, body }
    } catch (error) {
      signal?.throwIfAborted()
      if (error instanceof UpstreamTransientError) throw error
      throw new UpstreamTransientError('network', call, deadline.missed ?? `no answer (${codeOf(error)})`)
    } finally {
      deadline.end()
    }
  }

  /** Breaks off what is under way, which then fails as `network`, and closes every connection. */
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

/** How a proxy answered in place of passing the request on: undici tells it in these words alone. */
const PROXY_ANSWER = /^Proxy (?:response|Authentication Required) \((\d{3})\)/

/** Of nothing but a proxy's tunnel these are told: an answer has our own limits of time. */
const TUNNEL_FAULTS: Readonly<Record<string, string>> = {
  UND_ERR_PRX_CONN: 'the proxy broke off the connection',
  UND_ERR_HEADERS_TIMEOUT: 'the proxy did not answer',
}

/** @returns what a proxy did in place of passing the request on, or that it is away; null when no proxy is the reason. */
export function proxyFault(error: unknown): string | null {
  if (!(error instanceof Error)) return null
  if (error instanceof ProxyAwayError) return error.message
  const status = PROXY_ANSWER.exec(error.message)?.[1]
  if (status !== undefined) return `the proxy answered ${status}`
  return TUNNEL_FAULTS['code' in error ? String(error.code) : ''] ?? null
}

/** The code says enough (ECONNREFUSED, CERT_HAS_EXPIRED); messages of other people's errors may hold what must not be told. */
export function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  return proxyFault(error) ?? ('code' in error && typeof error.code === 'string' ? error.code : error.name)
}
