import type { Clock } from './clock.ts'
import { type TimeLimit, timeLimit } from './time-limit.ts'

export interface FetchedToken {
  readonly token: string
  /** Null: it is used until it is refused. */
  readonly expiresInSeconds: number | null
}

/**
 * Reads the answer of a token endpoint. It may tell the lifetime as a number, as text, or not at all: then it is null.
 * @returns null without a token of characters that are allowed in a header.
 */
export function readTokenAnswer(answer: unknown): FetchedToken | null {
  if (typeof answer !== 'object' || answer === null) return null
  const { access_token: token, expires_in: told } = answer as Readonly<Record<string, unknown>>
  if (typeof token !== 'string' || !/^[\x21-\x7e]+$/.test(token)) return null
  const seconds = typeof told === 'string' ? Number(told) : told
  return { token, expiresInSeconds: typeof seconds === 'number' && seconds > 0 ? seconds : null }
}

/** What a fetch is given. */
export interface TokenContext {
  readonly clock: Pick<Clock, 'now'> & Partial<Pick<Clock, 'steady' | 'random'>>
}

/** Part of the lifetime by which a renewal is earlier, at most: at random, so that processes do not renew together. */
const RENEW_JITTER = 0.1

/**
 * Holds one token until it is to be renewed or was refused, then fetches the next one. All who ask meanwhile wait for the same fetch. When
 * it fails they are told, and whoever asks next fetches again.
 */
export class TokenHolder<T extends FetchedToken, C extends TokenContext> {
  readonly #fetch: (context: C) => Promise<T>
  readonly #renewAfter: number
  #held: T | null = null
  #renew: TimeLimit | null = null
  #fetching: Promise<T> | null = null

  /**
   * @param fetch must not end with the caller that began it: others wait for it.
   * @param renewAfter share of its lifetime after which a token is renewed, less the jitter of a clock with chance.
   */
  constructor(fetch: (context: C) => Promise<T>, renewAfter = 1) {
    this.#fetch = fetch
    this.#renewAfter = renewAfter
  }

  /** The token that was fetched last and not refused, also when it should be renewed. */
  get held(): T | null {
    return this.#held
  }

  /** The same as long as it need not be renewed: `get` would give it at once. */
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

  /** Forgets a token that was refused. @returns what was held with it; null when another is held by now. */
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
