import type { Dispatcher } from 'undici'
import type { Clock } from '../../base/clock.ts'
import { retryAfterMs } from '../../upstream/http/answer.ts'
import { codeOf, proxyFault } from '../../upstream/http/http.ts'
import type { Cancellable, Cancelled, InFlight } from './in-flight.ts'
import { hintFor } from './network-hints.ts'

/** Why a try has no answer when it was broken off from here; people read it of a change that may have arrived. */
export const BROKEN_OFF = 'no answer before the program, or sending to this destination, was stopped'

/** Why the body of an answer is not all that the target had to say. */
export interface Cut {
  /** By its own fault it is longer than what is read; else the connection, or our patience, ended before it did. */
  readonly isTooLong: boolean
  /** As `its answer …` goes on. */
  readonly text: string
}

/** `not_sent`: surely nothing reached the target. `no_answer`: the request was sent, at least in part, and not even a status came back. */
export type TransportResult =
  | {
      readonly type: 'answer'
      readonly status: number
      /** Names in lower case. */
      readonly headers: Readonly<Record<string, string>>
      readonly body: string
      /** Null: the body is whole. What the status says holds either way. */
      readonly cut: Cut | null
      readonly retryAfterMs: number | null
    }
  | { readonly type: 'not_sent'; readonly error: string; readonly permanent: boolean }
  | { readonly type: 'no_answer'; readonly error: string }

/** How long an exchange may last. */
export interface Patience {
  /** For all of it, from connecting to the last byte of the answer. */
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

type HeaderValues = Parameters<NonNullable<Dispatcher.DispatchHandler['onResponseStart']>>[2]

/**
 * One request and what became of it. undici tells it when the request is about to be written, so that it knows whether the target can
 * have seen any of it.
 */
export class Exchange implements Dispatcher.DispatchHandler, Cancellable {
  readonly #clock: Clock
  readonly #bodyLimitBytes: number
  readonly #inFlight: InFlight
  readonly #patience: Patience
  readonly #result = Promise.withResolvers<TransportResult>()
  #controller: Dispatcher.DispatchController | null = null
  #settled = false
  #status = 0
  #headers: HeaderValues = {}
  readonly #chunks: Buffer[] = []
  #size = 0

  constructor(clock: Clock, bodyLimitBytes: number, inFlight: InFlight, patience: Patience) {
    this.#clock = clock
    this.#bodyLimitBytes = bodyLimitBytes
    this.#inFlight = inFlight
    this.#patience = patience
  }

  /** Sends the request, once. Never rejects. */
  run(dispatcher: Dispatcher, options: Dispatcher.DispatchOptions): Promise<TransportResult> {
    const { signal, timeoutMs } = this.#patience
    if (signal.aborted) return Promise.resolve({ type: 'not_sent', error: 'given up before it was sent', permanent: false })
    this.#inFlight.begin(this, signal, timeoutMs)
    try {
      dispatcher.dispatch(options, this)
    } catch (error) {
      this.#fail(error)
    }
    return this.#result.promise
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    // Given up while it waited for a connection: nothing was written yet, and nothing will be.
    if (this.#settled) controller.abort(new Error('given up'))
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: HeaderValues): void {
    this.#status = status
    this.#headers = headers
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#chunks.push(chunk.subarray(0, Math.max(0, this.#bodyLimitBytes - this.#size)))
    this.#size += chunk.length
    if (this.#size <= this.#bodyLimitBytes) return
    this.#answer({ isTooLong: true, text: `is longer than ${this.#bodyLimitBytes} bytes` })
    controller.abort(new Error('the answer is too long'))
  }

  onResponseEnd(): void {
    this.#answer(null)
  }

  onResponseError(_: Dispatcher.DispatchController | null, error: unknown): void {
    this.#fail(error)
  }

  #answer(cut: Cut | null): void {
    const headers: Record<string, string> = {}
    for (const [name, value] of Object.entries(this.#headers)) {
      if (value !== undefined) headers[name] = Array.isArray(value) ? value.join(', ') : value
    }
    const [first] = this.#chunks
    const body = first === undefined ? '' : (this.#chunks.length === 1 ? first : Buffer.concat(this.#chunks)).toString()
    const pauseMs = retryAfterMs(this.#headers, this.#clock.now()) ?? null
    this.#settle({ type: 'answer', status: this.#status, headers, body, cut, retryAfterMs: pauseMs })
  }

  giveUp(why: Cancelled): void {
    if (this.#settled) return
    this.#fail(null, why === 'late' ? `no whole answer within ${this.#patience.timeoutMs} ms` : BROKEN_OFF)
    this.#controller?.abort(new Error('given up'))
  }

  #fail(error: unknown, why = describe(error)): void {
    // The target has judged the request, although the rest of its answer did not come. A 1xx only says that a status will follow.
    if (this.#status >= 200) this.#answer({ isTooLong: false, text: 'broke off' })
    else if (this.#controller === null || proxyFault(error) !== null) {
      this.#settle({ type: 'not_sent', error: why, permanent: codeOf(error) === 'UND_ERR_INVALID_ARG' })
    } else this.#settle({ type: 'no_answer', error: why })
  }

  #settle(result: TransportResult): void {
    if (this.#settled) return
    this.#settled = true
    this.#inFlight.end(this, this.#patience.signal)
    this.#result.resolve(result)
  }
}

/** Codes say enough (ECONNREFUSED, CERT_HAS_EXPIRED); messages of other people's errors may hold what must not be told. */
function describe(error: unknown): string {
  if (error instanceof Error && error.name === 'RefusedAddressError') return error.message
  const code = codeOf(error)
  const hint = hintFor(code)
  return hint === null ? `no answer (${code})` : `no answer (${code}: ${hint})`
}
