import { abortable, limitedTo } from '../../base/abortable.ts'
import type { Clock } from '../../base/clock.ts'
import { type FetchedToken, type TokenContext, TokenHolder } from '../../base/token-holder.ts'
import { LoginRefusals } from '../contract/login-refusals.ts'
import { type Failure, localFailure, StepFailure } from '../contract/outcomes.ts'

/** Share of a token's lifetime after which it is renewed. */
const RENEW_AFTER = 0.9

/** Caches the token of one destination. Concurrent callers share one token request. */
export class TokenKeeper implements Auth {
  readonly #clock: Clock
  readonly #header: string
  readonly #holder: TokenHolder<FetchedToken, TokenContext>

  /**
   * @param exchange returns the complete header value. Has a separate timeout, because several callers may wait for it. Throws StepFailure.
   * @param header in lower case.
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
      const late = noToken(`no whole answer within ${timeoutMs} ms`, false)
      return { failure: signal.aborted ? localFailure('stopped before it was sent', false) : late }
    }
  }

  /** The first request rejected with a token renews it for all requests. */
  renew(headers: Readonly<Record<string, string>>): boolean {
    this.#holder.forget(headers[this.#header] ?? '')
    return true
  }
}

/**
 * @returns the outcome of a message that wasn't sent for lack of a token. @param permanent a rejected login, as counted by `LoginRefusals`.
 */
export function noToken(
  why: string,
  alive: boolean | null,
  permanent = false,
  status: number | null = null,
): Extract<Failure, { type: 'failed' }> {
  return { ...localFailure(`no token: ${why}`, permanent), alive, status }
}

/** A request's authentication headers, or why none are available. */
export type AuthHeaders = { readonly headers: Readonly<Record<string, string>> } | { readonly failure: Failure }

export interface Auth {
  /** Never rejects. @param timeoutMs longest wait for a token. */
  headers(timeoutMs: number, signal: AbortSignal): Promise<AuthHeaders>
  /** Call after a 401 for `headers`. @returns whether a retry with other headers makes sense. */
  renew(headers: Readonly<Record<string, string>>): boolean
}

/** @returns the `authorization` header of HTTP Basic. Escapes nothing, as nearly every server expects. */
export function basic(username: string, password: string): string {
  return `Basic ${Buffer.from(`${username}:${password}`, 'utf8').toString('base64')}`
}
