import type { Clock } from './clock.ts'
import { type TimeLimit, timeLimit } from './time-limit.ts'

export interface FetchedToken {
  readonly token: string
  /** Null: the token is used until it is rejected. */
  readonly expiresInSeconds: number | null
}

/**
 * Reads a token endpoint's answer. The lifetime may be a number, a text, or missing (null).
 * @returns null if the token is missing or invalid in a header.
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

/** Renewals come earlier by up to this share of the lifetime, at random, so that processes don't renew together. */
const RENEW_JITTER = 0.1

/**
 * Holds one token until it needs renewal or was rejected, then fetches the next. Concurrent callers share one fetch and its failure; the
 * next caller fetches again.
 */
export class TokenHolder<T extends FetchedToken, C extends TokenContext> {
  readonly #fetch: (context: C) => Promise<T>
  readonly #renewAfter: number
  #held: T | null = null
  #renew: TimeLimit | null = null
  #fetching: Promise<T> | null = null

  /**
   * @param fetch must continue if its first caller stops, since others share it.
   * @param renewAfter share of the lifetime after which a token is renewed, less jitter.
   */
  constructor(fetch: (context: C) => Promise<T>, renewAfter = 1) {
    this.#fetch = fetch
    this.#renewAfter = renewAfter
  }

  /** The last token, even if it needs renewal; null if it was rejected. */
  get held(): T | null {
    return this.#held
  }

  /** The token if it needs no renewal: `get` would return it immediately. */
  get usable(): T | null {
    return this.#renew === null || this.#renew.leftMs() > 0 ? this.#held : null
  }

  /** @returns a token to send. @throws what the fetch throws. */
  async get(context: C): Promise<T> {
    const { usable } = this
    if (usable !== null) return usable
    this.#fetching ??= this.#next(context).finally(() => {
      this.#fetching = null
    })
    return await this.#fetching
  }

  /** Drops a rejected token. @returns the dropped entry; null if a newer token is stored. */
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
