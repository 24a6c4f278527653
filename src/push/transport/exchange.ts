import { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import type { Clock } from '../../base/clock.ts'
import { messageOf } from '../../base/errors.ts'
import { retryAfterMs } from '../../upstream/http/answer.ts'
import { decodedBody, encodingsOf } from '../../upstream/http/encoding.ts'
import { codeOf, proxyFault } from '../../upstream/http/http.ts'
import { hintFor, refusesClient } from './network-hints.ts'

/** Error text of a request that this process aborted. The message may have arrived. */
export const ABORTED = 'no answer before the program, or sending to this destination, was stopped'

/** Why an answer's body is incomplete or unreadable. */
export interface Cut {
  /** Whether the body exceeds the limit. If not, the connection ended, the time ran out, or decoding failed. */
  readonly isTooLong: boolean
  /** Continues a sentence that starts with "the answer". */
  readonly text: string
}

/** `not_sent`: the target read nothing. `no_answer`: the request was sent at least partly, but no status arrived. */
export type TransportResult =
  | {
      readonly type: 'answer'
      readonly status: number
      /** Header names are in lower case. */
      readonly headers: Readonly<Record<string, string>>
      readonly body: string
      /** Null if the body is complete. The status is valid in both cases. */
      readonly cut: Cut | null
      readonly retryAfterMs: number | null
    }
  | { readonly type: 'not_sent'; readonly error: string; readonly permanent: boolean }
  | { readonly type: 'no_answer'; readonly error: string }

export interface Patience {
  /** Limit of the whole request, from connecting to the last byte of the answer. */
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

type HeaderValues = Parameters<NonNullable<Dispatcher.DispatchHandler['onResponseStart']>>[2]

/**
 * One request and its answer. undici calls `onRequestStart` just before it writes the request. The exchange therefore
 * knows whether the target may have received part of the request.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly #clock: Clock
  readonly #bodyLimitBytes: number
  readonly #patience: Patience
  readonly #result = Promise.withResolvers<TransportResult>()
  #cancelTimeout = () => {}
  #controller: Dispatcher.DispatchController | null = null
  #isSettled = false
  #status = 0
  #headers: HeaderValues = {}
  readonly #chunks: Buffer[] = []
  #size = 0

  constructor(clock: Clock, bodyLimitBytes: number, patience: Patience) {
    this.#clock = clock
    this.#bodyLimitBytes = bodyLimitBytes
    this.#patience = patience
  }

  /** Sends the request once. Never rejects. */
  run(dispatcher: Dispatcher, options: Dispatcher.DispatchOptions): Promise<TransportResult> {
    const { signal, timeoutMs } = this.#patience
    if (signal.aborted) return Promise.resolve({ type: 'not_sent', error: 'sending was stopped before this request', permanent: false })
    // Doesn't use AbortSignal.timeout, because its timers can't be cleared. A busy queue would accumulate thousands of
    // timers.
    this.#cancelTimeout = this.#clock.after(timeoutMs, () => this.#giveUp(`no complete answer within ${timeoutMs} ms`))
    signal.addEventListener('abort', this.#abort, { once: true })
    try {
      dispatcher.dispatch(options, this)
    } catch (error) {
      this.#fail(error)
    }
    return this.#result.promise
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    // If the exchange is settled, the request was aborted while it waited for a connection. Nothing was written.
    if (this.#isSettled) controller.abort(new Error('aborted'))
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: HeaderValues): void {
    this.#status = status
    this.#headers = headers
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#chunks.push(chunk.subarray(0, Math.max(0, this.#bodyLimitBytes - this.#size)))
    this.#size += chunk.length
    if (this.#size <= this.#bodyLimitBytes) return
    this.#answer(this.#tooLong())
    controller.abort(new Error('the answer is too long'))
  }

  onResponseEnd(): void {
    this.#answer(null)
  }

  onResponseError(_: Dispatcher.DispatchController | null, error: unknown): void {
    this.#fail(error)
  }

  #answer(cut: Cut | null): void {
    if (this.#isSettled) return
    const headers: Record<string, string> = {}
    for (const [name, value] of Object.entries(this.#headers)) {
      if (value !== undefined) headers[name] = Array.isArray(value) ? value.join(', ') : value
    }
    const answer = {
      type: 'answer',
      status: this.#status,
      headers,
      retryAfterMs: retryAfterMs(this.#headers, this.#clock.now()) ?? null,
    } as const
    const encodings = encodingsOf(this.#headers['content-encoding'])
    // undici keeps this exchange while the connection is idle, so the chunks are freed here.
    const chunks = this.#chunks.splice(0)
    if (encodings.length === 0) this.#settle({ ...answer, body: Buffer.concat(chunks).toString(), cut })
    else this.#settle(this.#decode(chunks, encodings, cut).then((read) => ({ ...answer, ...read })))
  }

  /** Decodes received bytes, up to the limit. Never rejects. */
  async #decode(
    chunks: readonly Buffer[],
    encodings: readonly string[],
    cut: Cut | null,
  ): Promise<{ readonly body: string; readonly cut: Cut | null }> {
    const text = new TextDecoder('utf-8', { ignoreBOM: true })
    let body = ''
    let left = this.#bodyLimitBytes
    const read = (why: Cut | null) => ({ body: body + text.decode(), cut: why })
    try {
      for await (const chunk of decodedBody(Readable.from(chunks), encodings)) {
        body += text.decode(chunk.subarray(0, left), { stream: true })
        if (chunk.length > left) return read(this.#tooLong())
        left -= chunk.length
      }
      return read(cut)
    } catch (error) {
      return read(cut ?? { isTooLong: false, text: messageOf(error) })
    }
  }

  #tooLong(): Cut {
    return { isTooLong: true, text: `is longer than ${this.#bodyLimitBytes} bytes` }
  }

  readonly #abort = (): void => this.#giveUp(ABORTED)

  #giveUp(why: string): void {
    this.#fail(null, why)
    this.#controller?.abort(new Error('aborted'))
  }

  #fail(error: unknown, why = describe(error)): void {
    // A status counts even if the rest of the answer is missing. A 1xx doesn't count, because another status follows.
    if (this.#status >= 200) this.#answer({ isTooLong: false, text: 'broke off' })
    else if (this.#controller === null || proxyFault(error) !== null || refusesClient(codeOf(error))) {
      this.#settle({ type: 'not_sent', error: why, permanent: codeOf(error) === 'UND_ERR_INVALID_ARG' })
    } else this.#settle({ type: 'no_answer', error: why })
  }

  #settle(result: TransportResult | Promise<TransportResult>): void {
    if (this.#isSettled) return
    this.#isSettled = true
    this.#cancelTimeout()
    this.#patience.signal.removeEventListener('abort', this.#abort)
    this.#result.resolve(result)
  }
}

/**
 * @returns the error as a phrase. Only the error code is used, such as ECONNREFUSED. Messages of libraries
 * may contain secrets.
 */
function describe(error: unknown): string {
  if (error instanceof Error && error.name === 'RefusedAddressError') return error.message
  const code = codeOf(error)
  const hint = hintFor(code)
  return hint === null ? `no answer (${code})` : `no answer (${code}: ${hint})`
}
