import type { Clock } from './clock.ts'
import { type TimeLimit, timeLimit } from './time-limit.ts'

export interface FetchedToken {
  readonly token: string
  /** Lifetime of the token; null: use the token until it is rejected. */
  readonly expiresInSeconds: number | null
}

/**
 * Reads the answer of a token endpoint. Its `expires_in` may be a number or a text. If `expires_in` is missing or
 * invalid, `expiresInSeconds` is null.
 * @returns null if the token is missing or contains characters that a header doesn't allow.
 */
export function readTokenAnswer(answer: unknown): FetchedToken | null {
  if (typeof answer !== 'object' || answer === null) return null
  const { access_token: token, expires_in: lifetime } = answer as Readonly<Record<string, unknown>>
  if (typeof token !== 'string' || !/^[\x21-\x7e]+$/.test(token)) return null
  const seconds = typeof lifetime === 'string' ? Number(lifetime) : lifetime
  return { token, expiresInSeconds: typeof seconds === 'number' && seconds > 0 ? seconds : null }
}

export interface TokenContext {
  readonly clock: Pick<Clock, 'now'> & Partial<Pick<Clock, 'steady' | 'random'>>
}

/**
 * Each renewal comes earlier by a random share of the lifetime, at most this share. Processes then don't all renew at
 * the same time.
 */
const RENEW_JITTER = 0.1

/**
 * Holds one token. Fetches a new token if the held token needs renewal or was rejected.
 * Concurrent callers share one fetch. If the fetch fails, all of them get its error, and the next call fetches again.
 */
export class TokenHolder<T extends FetchedToken, C extends TokenContext> {
  readonly #fetch: (context: C) => Promise<T>
  readonly #renewAfter: number
  #held: T | null = null
  #renew: TimeLimit | null = null
  #fetching: Promise<T> | null = null

  /**
   * @param fetch must continue if the caller that started it stops, because other callers wait for the same fetch.
   * @param renewAfter share of the lifetime after which a token is renewed, before jitter.
   */
  constructor(fetch: (context: C) => Promise<T>, renewAfter = 1) {
    this.#fetch = fetch
    this.#renewAfter = renewAfter
  }

  /**
   * The newest token, even if it needs renewal. Null before the first fetch, and after the service rejected this token.
   */
  get held(): T | null {
    return this.#held
  }

  /** The held token; null if it needs renewal or no token is held. `get` returns a usable token without a fetch. */
  get usable(): T | null {
    return this.#renew === null || this.#renew.leftMs() > 0 ? this.#held : null
  }

  /** @returns a token to send. @throws the error of the fetch. */
  async get(context: C): Promise<T> {
    const { usable } = this
    if (usable !== null) return usable
    this.#fetching ??= this.#next(context).finally(() => {
      this.#fetching = null
    })
    return await this.#fetching
  }

  /**
   * Drops a rejected token.
   * @returns the dropped token; null if it isn't the held token, for example after a renewal.
   */
  forget(token: string): T | null {
    const held = this.#held
    if (held?.token !== token) return null
    this.#held = null
    return held
  }

  async #next(context: C): Promise<T> {
    const { clock } = context
    const next = await this.#fetch(context)
    const usable = this.#renewAfter - RENEW_JITTER * (clock.random?.() ?? 0)
    this.#renew = next.expiresInSeconds === null ? null : timeLimit(clock, next.expiresInSeconds * 1000 * usable)
    this.#held = next
    return next
  }
}
