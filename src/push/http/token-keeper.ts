import { abortable, limitedTo } from '../../base/abortable.ts'
import type { Clock } from '../../base/clock.ts'
import { type FetchedToken, type TokenContext, TokenHolder } from '../../base/token-holder.ts'
import { LoginRefusals } from '../contract/login-refusals.ts'
import { type Failure, localFailure, StepFailure } from '../contract/outcomes.ts'

/** A token is renewed when this share of its lifetime has passed. */
const RENEW_AFTER = 0.9

/** Caches the token of one destination. Callers at the same time share one token request. */
export class TokenKeeper implements Auth {
  readonly #clock: Clock
  readonly #header: string
  readonly #holder: TokenHolder<FetchedToken, TokenContext>

  /**
   * @param exchange requests a token and returns the complete header value. If no token is obtained, throws
   * StepFailure. Several callers may wait for the token, so the request must have its own timeout.
   * @param header name of the header, in lower case.
   */
  constructor(exchange: () => Promise<FetchedToken>, clock: Clock, header = 'authorization') {
    this.#clock = clock
    this.#header = header
    const refusals = new LoginRefusals()
    this.#holder = new TokenHolder(() => refusals.counted(clock, exchange), RENEW_AFTER)
  }

  async headers(timeoutMs: number, signal: AbortSignal): Promise<AuthHeaders> {
    try {
      const { usable } = this.#holder
      const { token } = usable ?? (await abortable(this.#holder.get({ clock: this.#clock }), limitedTo(timeoutMs, signal)))
      return { headers: { [this.#header]: token } }
    } catch (error) {
      if (error instanceof StepFailure) return { failure: error.failure }
      const late = noToken(`no complete answer within ${timeoutMs} ms`, false)
      return { failure: signal.aborted ? localFailure('sending was stopped before this request', false) : late }
    }
  }

  /** Drops the token of a rejected request. The next call of `headers` requests a new token. */
  renew(headers: Readonly<Record<string, string>>): boolean {
    this.#holder.forget(headers[this.#header] ?? '')
    return true
  }
}

/**
 * @returns the outcome of a message that wasn't sent because no token was obtained.
 * @param permanent whether the login was rejected. `LoginRefusals` counts permanent failures.
 */
export function noToken(
  why: string,
  alive: boolean | null,
  permanent = false,
  status: number | null = null,
): Extract<Failure, { type: 'failed' }> {
  return { ...localFailure(`no token: ${why}`, permanent), alive, status }
}

/** Authentication headers of a request, or the reason why there are none. */
export type AuthHeaders = { readonly headers: Readonly<Record<string, string>> } | { readonly failure: Failure }

export interface Auth {
  /**
   * Gets the headers, with a token if needed. Never rejects.
   * @param timeoutMs longest wait for a token.
   */
  headers(timeoutMs: number, signal: AbortSignal): Promise<AuthHeaders>
  /**
   * Call this after a 401 answer to a request with `headers`.
   * @returns whether a retry with new headers may work.
   */
  renew(headers: Readonly<Record<string, string>>): boolean
}

/**
 * @returns the `authorization` header of HTTP Basic. User name and password aren't URL-encoded, because nearly every
 * server expects them unencoded.
 */
export function basic(username: string, password: string): string {
  return `Basic ${Buffer.from(`${username}:${password}`, 'utf8').toString('base64')}`
}
