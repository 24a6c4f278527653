import type { Clock } from '../../base/clock.ts'
import { messageOf } from '../../base/errors.ts'
import type { FetchedToken } from '../../base/token-holder.ts'
import type { HeldTokens, PushTokens, TokenClaim } from '../../store/outbox/push-tokens.ts'
import { StepFailure } from '../contract/outcomes.ts'
import { noToken } from './token-keeper.ts'

/** `token` is the complete header value. */
export interface ExchangedToken extends FetchedToken {
  readonly refreshToken: string | null
}

/**
 * Requests a token with a refresh token. If `refreshToken` is null, logs in instead.
 * @throws StepFailure if no token is obtained.
 */
export type Exchange = (refreshToken: string | null) => Promise<ExchangedToken>

/** How often to check whether another process stored a new token, in ms. */
const LOOK_MS = 200

/**
 * One destination's tokens, shared by all processes. One process requests the next token, and the other processes read
 * this token from the database. A new token and refresh token are stored before use. If the target rejects a refresh
 * token, `next` logs in immediately. After a crash or an unanswered refresh, the next token request logs in.
 */
export class StoredToken {
  readonly #exchange: Exchange
  readonly #tokens: PushTokens
  readonly #clock: Clock
  readonly #waitMs: number
  /** The token that `next` returned last. When `next` is called again, this token has expired or was rejected. */
  #last: string | null = null

  /** @param waitMs longest wait for another process, in ms. */
  constructor(exchange: Exchange, tokens: PushTokens, clock: Clock, waitMs: number) {
    this.#exchange = exchange
    this.#tokens = tokens
    this.#clock = clock
    this.#waitMs = waitMs
  }

  /**
   * @returns a token other than `#last`.
   * @throws StepFailure if no token is obtained.
   */
  async next(): Promise<FetchedToken> {
    try {
      const next = await this.#takeOrRequest()
      this.#last = next.token
      return next
    } catch (error) {
      if (error instanceof StepFailure) throw error
      throw new StepFailure(noToken(messageOf(error), null))
    }
  }

  async #takeOrRequest(): Promise<FetchedToken> {
    const until = this.#clock.steady() + this.#waitMs
    for (;;) {
      const stored = this.#usable(await this.#tokens.read())
      if (stored !== null) return stored
      const claim = await this.#tokens.claim()
      if (claim !== null) return await this.#claimed(claim)
      if (this.#clock.steady() >= until) throw new StepFailure(noToken('another process is requesting it', null))
      await this.#clock.sleep(LOOK_MS)
    }
  }

  async #claimed(claim: TokenClaim): Promise<FetchedToken> {
    try {
      // Another process may have stored a token just before the claim.
      const stored = this.#usable(claim.held)
      if (stored === null) return await this.#request(claim)
      await this.#tokens.release(claim)
      return stored
    } catch (error) {
      // If releasing the claim fails, the claim expires.
      await this.#tokens.release(claim).catch(() => undefined)
      throw error
    }
  }

  async #request(claim: TokenClaim): Promise<FetchedToken> {
    const known = claim.held?.refreshToken ?? null
    const got = (known === null ? null : await this.#refreshed(claim, known)) ?? (await this.#exchange(null))
    const { token, expiresInSeconds } = got
    const expiresAt = expiresInSeconds === null ? null : this.#clock.now() + expiresInSeconds * 1000
    await this.#tokens.store(claim, { token, expiresAt, refreshToken: got.refreshToken })
    return got
  }

  /**
   * Requests a token with the refresh token.
   * @returns null if the target rejects the refresh token, which can happen at any time.
   */
  async #refreshed(claim: TokenClaim, refreshToken: string): Promise<ExchangedToken | null> {
    await this.#tokens.spend(claim)
    try {
      const got = await this.#exchange(refreshToken)
      return { ...got, refreshToken: got.refreshToken ?? refreshToken }
    } catch (error) {
      if (error instanceof StepFailure && isRefused(error)) return null
      throw error
    }
  }

  #usable(held: HeldTokens | null): FetchedToken | null {
    if (held === null || held.token === this.#last) return null
    const { token, expiresAt } = held
    if (expiresAt === null) return { token, expiresInSeconds: null }
    const expiresInSeconds = (expiresAt - this.#clock.now()) / 1000
    return expiresInSeconds > 0 ? { token, expiresInSeconds } : null
  }
}

function isRefused({ failure }: StepFailure): boolean {
  if (failure.type === 'suspend') return true
  return failure.type === 'failed' && failure.alive === true && failure.status !== null && failure.status < 500 && failure.status !== 429
}
