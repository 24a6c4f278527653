import { abortable, limitedTo } from '../../base/abortable.ts'
import type { Clock } from '../../base/clock.ts'
import { type TimeLimit, timeLimit } from '../../base/time-limit.ts'
import type { AuthConfig } from '../../config/config.ts'
import { isObject } from '../../model/json.ts'
import { parseJson } from '../../upstream/http/answer.ts'
import { type Answer, answered, type Failure, isSuccess } from '../contract/outcomes.ts'
import type { Transport } from '../transport/transport.ts'
import { type Auth, type AuthHeaders, basic } from './auth.ts'

type TokenConfig = Extract<AuthConfig, { type: 'oauth2' | 'password' }>

interface Token {
  readonly headers: Readonly<Record<string, string>>
  readonly renew: TimeLimit
}

/** Part of its lifetime after which a token is renewed, less up to a tenth at random, so that processes do not renew together. */
const RENEW_AFTER = 0.9
const RENEW_JITTER = 0.1
/** Lifetime of a token that comes without one. */
const DEFAULT_LIFETIME_S = 300
/** Error codes of a token endpoint that mean that the credentials themselves are refused (RFC 6749). */
const WITHDRAWN = new Set(['invalid_client', 'invalid_grant', 'unauthorized_client'])

/** Gets and keeps the token of one destination, by client credentials or password. All who wait share one exchange. */
export class TokenKeeper implements Auth {
  readonly #config: TokenConfig
  readonly #transport: Transport
  readonly #clock: Clock
  readonly #timeoutMs: number
  #token: Token | null = null
  #exchanging: Promise<AuthHeaders> | null = null

  /** @param timeoutMs of each exchange. */
  constructor(config: TokenConfig, transport: Transport, clock: Clock, timeoutMs: number) {
    this.#config = config
    this.#transport = transport
    this.#clock = clock
    this.#timeoutMs = timeoutMs
  }

  async headers(timeoutMs: number, signal: AbortSignal): Promise<AuthHeaders> {
    if (this.#token !== null && this.#token.renew.leftMs() > 0) return { headers: this.#token.headers }
    // Without the caller's signal and timeout: others wait for the same exchange.
    this.#exchanging ??= this.#exchange().finally(() => {
      this.#exchanging = null
    })
    return await withinTimeout(this.#exchanging, timeoutMs, signal)
  }

  /** The first request that is refused with a token has it renewed for all. */
  renew(headers: Readonly<Record<string, string>>): boolean {
    if (this.#token?.headers === headers) this.#token = null
    return true
  }

  async #exchange(): Promise<AuthHeaders> {
    const { tokenUrl } = this.#config
    const { form, authorization } = tokenRequest(this.#config)
    const headers = {
      accept: 'application/json',
      'content-type': 'application/x-www-form-urlencoded',
      ...(authorization !== null && { authorization }),
    }
    const request = { method: 'POST', url: tokenUrl, headers, body: form.toString(), timeoutMs: this.#timeoutMs }
    const result = await this.#transport.send(request, new AbortController().signal)
    // Whatever became of this request: the message itself was not sent.
    if (result.type !== 'answer') {
      return failing(`no token: ${result.error}`, { permanent: result.type === 'not_sent' && result.permanent, alive: false })
    }
    return isSuccess(result.status) ? this.#take(result) : { failure: refusal(result) }
  }

  #take({ body, cut }: Answer): AuthHeaders {
    if (cut !== null) return failing(`no token: the token endpoint's answer ${cut.text}`, { permanent: false, alive: cut.isTooLong })
    const answer = parseJson(body)
    const token = isObject(answer) ? answer['access_token'] : undefined
    // It must be allowed in a header.
    if (!isObject(answer) || typeof token !== 'string' || !/^[\x21-\x7e]+$/.test(token)) {
      return failing('no token: the token endpoint answered without an access_token', { permanent: false, alive: true })
    }
    const seconds = Number(answer['expires_in'] ?? Number.NaN)
    const lifetimeMs = (seconds > 0 ? seconds : DEFAULT_LIFETIME_S) * 1000
    const headers = { authorization: `Bearer ${token}` }
    this.#token = { headers, renew: timeLimit(this.#clock, lifetimeMs * (RENEW_AFTER - RENEW_JITTER * this.#clock.random())) }
    return { headers }
  }
}

/** @returns the form, and the `authorization` header when the client's id and secret go there. */
function tokenRequest(config: TokenConfig): { readonly form: URLSearchParams; readonly authorization: string | null } {
  if (config.type === 'password') {
    const form = new URLSearchParams({ grant_type: 'password', username: config.username, password: config.password.reveal() })
    setIfGiven(form, { client_id: config.clientId, client_secret: config.clientSecret?.reveal() ?? null, scope: config.scope })
    return { form, authorization: null }
  }
  const form = new URLSearchParams({ grant_type: 'client_credentials' })
  setIfGiven(form, { scope: config.scope, audience: config.audience })
  const secret = config.clientSecret.reveal()
  if (config.send === 'basic') return { form, authorization: basic(config.clientId, secret) }
  setIfGiven(form, { client_id: config.clientId, client_secret: secret })
  return { form, authorization: null }
}

function setIfGiven(form: URLSearchParams, fields: Readonly<Record<string, string | null>>): void {
  for (const [name, value] of Object.entries(fields)) if (value !== null) form.set(name, value)
}

/** Refused credentials stay refused until an operator acts. */
function refusal(answer: Answer): Failure {
  const { status, body, retryAfterMs } = answer
  const parsed = parseJson(body)
  const withdrawn = status === 401 || status === 403 || (status === 400 && isObject(parsed) && WITHDRAWN.has(String(parsed['error'])))
  const why = `the token endpoint ${answered(answer)}`
  if (withdrawn) return { type: 'stop', state: 'parked', status, error: `no token, it refuses the credentials: ${why}` }
  return { type: 'failed', permanent: false, alive: status < 500, status, error: `no token: ${why}`, retryAfterMs }
}

function failing(error: string, { permanent, alive }: { readonly permanent: boolean; readonly alive: boolean | null }): AuthHeaders {
  return { failure: { type: 'failed', permanent, alive, status: null, error, retryAfterMs: null } }
}

/** Waits for `exchange` until `signal` aborts or the timeout passes. The exchange itself goes on. */
async function withinTimeout(exchange: Promise<AuthHeaders>, timeoutMs: number, signal: AbortSignal): Promise<AuthHeaders> {
  try {
    return await abortable(exchange, limitedTo(timeoutMs, signal))
  } catch {
    if (signal.aborted) return failing('stopped before it was sent', { permanent: false, alive: null })
    return failing(`no token: no whole answer within ${timeoutMs} ms`, { permanent: false, alive: false })
  }
}
