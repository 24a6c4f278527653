import type { Auth } from '../auth/auth.ts'
import { mayPassLater, ServiceError, serviceError, Unreachable } from '../errors.ts'
import { urlOf } from './paths.ts'
import { type Reads, readBody } from './reading.ts'
import { backoffMs, LONGEST_WAIT_S, type Retry } from './retry.ts'
import { bodyText, errorAnswer, sendOnce, type Wire } from './wire.ts'

/**
 * `idempotent`: retried after each temporary failure. `at-most-once`: retried only if the request surely had no effect.
 */
type RetryMode = 'idempotent' | 'at-most-once'

export interface Call {
  readonly method: string
  /** Path relative to the base URL. */
  readonly path: string
  readonly query?: Readonly<Record<string, string | number | undefined>> | undefined
  readonly json?: unknown
  /** Builds the form. Called for each attempt, because a form can be sent only once. */
  readonly form?: () => FormData
  readonly headers?: Readonly<Record<string, string>>
  readonly retry: RetryMode
  /** Whether a 409 with an unknown code becomes NotBindable. */
  readonly isBind?: boolean
  readonly signal?: AbortSignal | undefined
}

/** Sends calls with an access token, and retries failed calls. */
export class Channel {
  readonly wire: Wire
  readonly #auth: Auth
  readonly #retry: Retry

  constructor(wire: Wire, auth: Auth, retry: Retry) {
    this.wire = wire
    this.#auth = auth
    this.#retry = retry
  }

  /**
   * Sends a call and reads its answer.
   * @throws ServiceError, Unreachable, LoginNeeded; UnexpectedAnswer if required fields are missing.
   */
  async ask<T>(call: Call, schema: Reads<T>): Promise<T> {
    const what = `${call.method} ${call.path}`
    const answer = await this.send(call)
    return readBody(schema, what, answer.status, await this.#bodyOf(call, what, answer))
  }

  /**
   * @returns the successful answer. Its body is not read yet.
   * @throws ServiceError, Unreachable, LoginNeeded; UnexpectedAnswer for an invalid token answer.
   */
  async send(call: Call): Promise<Response> {
    const what = `${call.method} ${call.path}`
    let isRenewed = false
    for (let attempt = 1; ; ) {
      const token = await this.#token(what, call.signal)
      try {
        const answer = await this.#once(call, what, token)
        if (answer.ok) return answer
        throw serviceError(what, await errorAnswer(this.wire, what, answer), call.isBind ?? false)
      } catch (error) {
        if (!isRenewed && error instanceof ServiceError && error.status === 401 && this.#auth.refused(token)) {
          // A request with a rejected token had no effect, so it is retried with a new token.
          isRenewed = true
          continue
        }
        if (call.retry === 'at-most-once' && !(error instanceof Unreachable && error.sent === 'no')) throw error
        await this.#pauseAfter(error, attempt++, call.signal)
      }
    }
  }

  /** Gets a token. Retries even for `at-most-once` calls, because the call itself is not sent yet. */
  async #token(what: string, signal?: AbortSignal): Promise<string> {
    for (let attempt = 1; ; ) {
      try {
        return await this.#auth.token(this.wire, signal)
      } catch (error) {
        await this.#pauseAfter(error instanceof Unreachable ? new Unreachable(what, 'no', error) : error, attempt++, signal)
      }
    }
  }

  /**
   * Waits before the next attempt.
   * @throws `error` if there is no further attempt.
   */
  async #pauseAfter(error: unknown, attempt: number, signal?: AbortSignal): Promise<void> {
    const afterS = error instanceof ServiceError ? error.retryAfterS : null
    if (!mayPassLater(error) || attempt >= this.#retry.tries || (afterS ?? 0) > LONGEST_WAIT_S) throw error
    await this.wire.clock.sleep(afterS === null ? backoffMs(this.#retry, attempt) : afterS * 1000, signal)
    signal?.throwIfAborted()
  }

  async #once(call: Call, what: string, token: string): Promise<Response> {
    const { method, path, query, json, form, headers } = call
    const body = form ? form() : json === undefined ? undefined : JSON.stringify(json)
    const init: RequestInit = {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        accept: 'application/json',
        ...(json !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body }),
    }
    return await sendOnce(this.wire, what, urlOf(this.wire.baseUrl, path, query), init, call.signal)
  }

  /** Reads the body. If the body of an idempotent call breaks off, sends the call again. */
  async #bodyOf(call: Call, what: string, answer: Response): Promise<string> {
    try {
      return await bodyText(this.wire, what, answer)
    } catch (error) {
      if (call.retry === 'at-most-once' || this.#retry.tries === 1) throw error
      return await bodyText(this.wire, what, await this.send(call))
    }
  }
}
