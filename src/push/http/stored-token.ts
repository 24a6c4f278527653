import type { Clock } from '../../base/clock.ts'
import { messageOf } from '../../base/errors.ts'
import type { FetchedToken } from '../../base/token-holder.ts'
import type { HeldTokens, PushTokens, TokenClaim } from '../../store/outbox/push-tokens.ts'
import { StepFailure } from '../contract/outcomes.ts'
import { noToken } from './token-keeper.ts'

/** What a request for a token gave: the whole value of its header, and the refresh token that came along. */
export interface ExchangedToken extends FetchedToken {
  readonly refreshToken: string | null
}

/** Requests a token: by a refresh token, or (null) by a login. @throws StepFailure. */
export type Exchange = (refreshToken: string | null) => Promise<ExchangedToken>

/** Pause before it is looked again whether another process has the next token. */
const LOOK_MS = 200

/**
 * The tokens of one destination, shared with the other processes: one of them requests the next token, the others take it from the database.
 * A new pair is stored before it is used. What is lost on the way (a crash, a refused or unanswered refresh) costs a new login.
 */
export class StoredToken {
  readonly #exchange: Exchange
  readonly #tokens: PushTokens
  readonly #clock: Clock
  readonly #waitMs: number
  /** The token that was given out last: it ended or was refused, or nobody would ask for another. */
  #last: string | null = null

  /** @param waitMs how long another process is waited for. */
  constructor(exchange: Exchange, tokens: PushTokens, clock: Clock, waitMs: number) {
    this.#exchange = exchange
    this.#tokens = tokens
    this.#clock = clock
    this.#waitMs = waitMs
  }

  /** @returns another token than the last. @throws StepFailure. */
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
      // Another process may have stored it since it was read.
      const stored = this.#usable(claim.held)
      if (stored === null) return await this.#request(claim)
      await this.#tokens.release(claim)
      return stored
    } catch (error) {
      // A claim that cannot be ended now ends by itself.
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

  /** @returns null when the target refuses the refresh token, which it may do at any time. */
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

/** Whether the target answered, and not that it has no time. */
function isRefused({ failure }: StepFailure): boolean {
  if (failure.type === 'suspend') return true
  return failure.type === 'failed' && failure.alive === true && failure.status !== null && failure.status < 500 && failure.status !== 429
}
