import { abortable } from '../base/abortable.ts'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Observer } from '../base/observer.ts'
import { type FetchedToken, TokenHolder } from '../base/token-holder.ts'
import { type HttpAnswer, parseJson } from './http/answer.ts'
import type { Channel } from './http/channel.ts'
import { AuthRefusedError, UpstreamPermanentError, UpstreamTransientError } from './http/errors.ts'
import type { Call } from './http/operations.ts'
import { readToken } from './wire/answers.ts'

/** A client id and secret. `reveal` is called only to send the secret. */
export interface Credential {
  readonly id: string
  readonly secret: { reveal(): string }
}

interface TokenOptions {
  readonly account: string
  /** One credential, or two during a rotation. */
  readonly credentials: readonly Credential[]
  readonly scope: string
  /** Pause after every credential was refused, in ms. */
  readonly suspendMs: number
  /** Receives the client id of each credential that got a token. */
  readonly onToken?: ((clientId: string) => void) | undefined
}

interface TokenParts {
  readonly clock: Clock
  readonly observer: Observer
  readonly log: Log
}

const CALL: Call = { operation: 'token', submissionId: null, withCursor: false }

/** A token is renewed when this share of its lifetime has passed. */
const RENEW_AFTER = 0.8
/** Minimum pause in ms after an exchange that failed for a reason other than refused credentials. */
const FAILED_HOLD_MS = 1_000
/** After a refused token is dropped, further refusals within this many ms don't cause another renewal. */
const NEW_MS = 3_000

/**
 * Gets access tokens of one account with client credentials (traps 38 to 43). All callers share one exchange. If a
 * renewal fails, the old token is used until the service refuses it. If every credential is refused, exchanges are
 * suspended for `suspendMs`.
 */
export class TokenSource {
  readonly #channel: Channel
  readonly #options: TokenOptions
  readonly #clock: Clock
  readonly #parts: TokenParts
  readonly #holder = new TokenHolder<FetchedToken, TokenParts>(() => this.#mint(), RENEW_AFTER)
  /** Until this time, no exchange runs. Callers get `error`. */
  #hold: { readonly until: number; readonly error: UpstreamTransientError | AuthRefusedError } | null = null
  #newUntil = Number.NEGATIVE_INFINITY
  /** Index of the credential that worked last. */
  #working = 0
  /** Ids of credentials whose refusal was logged. */
  readonly #refused = new Set<string>()

  constructor(channel: Channel, options: TokenOptions, parts: TokenParts) {
    this.#channel = channel
    this.#options = options
    this.#clock = parts.clock
    this.#parts = parts
    // Starts the counters at 0. Otherwise, monitoring would miss the first increase.
    for (const outcome of ['ok', 'refused', 'failed'] as const) this.#count(outcome, 0)
  }

  /**
   * @returns a token to send.
   * @throws AuthRefusedError if every credential was refused and no earlier token is valid.
   * @throws UpstreamTransientError if the exchange failed for another reason.
   * @throws the reason of `signal` when it aborts.
   */
  async get(signal?: AbortSignal): Promise<string> {
    signal?.throwIfAborted()
    try {
      return (this.#holder.usable ?? (await abortable(this.#holder.get(this.#parts), signal))).token
    } catch (error) {
      const live = this.#holder.held
      if (live === null || !isHeld(error)) throw error
      return live.token
    }
  }

  /**
   * Drops a refused token. The next `get` fetches a new token for all callers. Within `NEW_MS` after an earlier drop, a
   * token is dropped only with `evenIfNew`.
   */
  invalidate(token: string, evenIfNew = false): void {
    const now = this.#clock.steady()
    if (now < this.#newUntil && !evenIfNew) return
    if (this.#holder.forget(token) !== null) this.#newUntil = now + NEW_MS
  }

  /**
   * Milliseconds until an exchange is tried again after a failure; 0 if a token is available or the
   * credentials were refused.
   */
  waitMs(): number {
    if (this.#holder.held !== null || this.#hold === null || this.#hold.error instanceof AuthRefusedError) return 0
    return Math.max(0, this.#hold.until - this.#clock.steady())
  }

  /** Ends the suspension that follows refused credentials. */
  resume(): void {
    if (this.#hold?.error instanceof AuthRefusedError) this.#hold = null
  }

  async #mint(): Promise<FetchedToken> {
    if (this.#hold !== null && this.#clock.steady() < this.#hold.until) throw this.#hold.error
    try {
      return await this.#exchangeAny()
    } catch (error) {
      if (!isHeld(error)) throw error
      const holdMs = error instanceof AuthRefusedError ? this.#options.suspendMs : Math.max(error.retryAfterMs ?? 0, FAILED_HOLD_MS)
      this.#hold = { until: this.#clock.steady() + holdMs, error }
      throw error
    }
  }

  async #exchangeAny(): Promise<FetchedToken> {
    const { credentials } = this.#options
    let refusal = 'no credentials'
    let isMissing = false
    for (let turn = 0; turn < credentials.length; turn += 1) {
      const index = (this.#working + turn) % credentials.length
      const credential = credentials[index]
      if (!credential) continue
      try {
        const answer = await this.#exchange(credential)
        this.#working = index
        this.#refused.delete(credential.id)
        this.#count('ok')
        this.#options.onToken?.(credential.id)
        return answer
      } catch (error) {
        this.#count(error instanceof UpstreamPermanentError ? 'refused' : 'failed')
        if (!(error instanceof UpstreamPermanentError)) throw error
        refusal = error.message
        isMissing = error.class === 'gone'
        this.#logRefusal(credential, error)
      }
    }
    const advice = isMissing ? '; the service has no token endpoint there: check BROKER_API_BASE_URL first' : ''
    throw new AuthRefusedError('auth', CALL, `the service rejects every credential of the account; the last: ${refusal}${advice}`)
  }

  async #exchange(credential: Credential): Promise<FetchedToken> {
    const form = new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: credential.id,
      client_secret: credential.secret.reveal(),
      scope: this.#options.scope,
    })
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    return await this.#channel.run(CALL, { headers, body: form.toString() }, tokenIn, {})
  }

  #logRefusal({ id }: Credential, error: UpstreamPermanentError): void {
    if (this.#refused.has(id)) return
    this.#refused.add(id)
    const { account } = this.#options
    this.#parts.log.warn(
      { account, credential: id, err: error },
      `credential ${id} of account ${account} was rejected (${error.message}): compare its id, secret and scope with the portal, or remove it from the settings`,
    )
  }

  #count(outcome: 'ok' | 'refused' | 'failed', by = 1): void {
    this.#parts.observer.count('token_mints_total', { account: this.#options.account, outcome }, by)
  }
}

/** True for failures that delay the next exchange. A token that is still valid stays in use. */
function isHeld(error: unknown): error is AuthRefusedError | UpstreamTransientError {
  return error instanceof AuthRefusedError || error instanceof UpstreamTransientError
}

function tokenIn(answer: HttpAnswer): FetchedToken {
  const read = readToken(parseJson(answer.body))
  if (read === null) throw new UpstreamTransientError('unavailable', CALL, 'the answer has no usable token')
  return read
}
