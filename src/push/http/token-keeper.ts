import { abortable, limitedTo } from '../../base/abortable.ts'
import type { Clock } from '../../base/clock.ts'
import { type FetchedToken, type TokenContext, TokenHolder } from '../../base/token-holder.ts'
import { LoginRefusals } from '../contract/login-refusals.ts'
import { type Failure, localFailure, StepFailure } from '../contract/outcomes.ts'
import type { Auth, AuthHeaders } from './auth.ts'

/** Share of its lifetime after which a token is renewed. */
const RENEW_AFTER = 0.9

/** Keeps the token of one destination. All who ask while there is none share one exchange. */
export class TokenKeeper implements Auth {
  readonly #clock: Clock
  readonly #header: string
  /** Of whole values of the header. */
  readonly #holder: TokenHolder<FetchedToken, TokenContext>

  /**
   * @param exchange gets a token: the whole value of the header. It has no caller's signal and timeout, for others wait for it too. It throws
   * StepFailure.
   * @param header the header's name, in lower case.
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

  /** The first request that is refused with a token has it renewed for all. */
  renew(headers: Readonly<Record<string, string>>): boolean {
    this.#holder.forget(headers[this.#header] ?? '')
    return true
  }
}

/** @returns the outcome of a message that was not sent without a token. @param permanent the login is refused, as `LoginRefusals` counts. */
export function noToken(
  why: string,
  alive: boolean | null,
  permanent = false,
  status: number | null = null,
): Extract<Failure, { type: 'failed' }> {
  return { ...localFailure(`no token: ${why}`, permanent), alive, status }
}
