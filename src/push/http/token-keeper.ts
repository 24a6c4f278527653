import { abortable, limitedTo } from '../../base/abortable.ts'
import type { Clock } from '../../base/clock.ts'
import { type FetchedToken, readTokenAnswer, type TokenContext, TokenHolder } from '../../base/token-holder.ts'
import type { AuthConfig } from '../../config/config.ts'
import { isObject } from '../../model/json.ts'
import { parseJson } from '../../upstream/http/answer.ts'
import { type Answer, answered, type Failure, isSuccess, localFailure, StepFailure } from '../contract/outcomes.ts'
import type { Transport } from '../transport/transport.ts'
import { type Auth, type AuthHeaders, basic } from './auth.ts'

type TokenConfig = Extract<AuthConfig, { type: 'oauth2' | 'password' }>

/** Share of its lifetime after which a token is renewed. */
const RENEW_AFTER = 0.9
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
  /** Of whole `authorization` headers. */
  readonly #holder = new TokenHolder<FetchedToken, TokenContext>(() => this.#exchange(), RENEW_AFTER)

  /** @param timeoutMs of each exchange. */
  constructor(config: TokenConfig, transport: Transport, clock: Clock, timeoutMs: number) {
    this.#config = config
    this.#transport = transport
    this.#clock = clock
    this.#timeoutMs = timeoutMs
  }

  async headers(timeoutMs: number, signal: AbortSignal): Promise<AuthHeaders> {
    try {
      const { usable } = this.#holder
      const { token } = usable ?? (await abortable(this.#holder.get({ clock: this.#clock }), limitedTo(timeoutMs, signal)))
      return { headers: { authorization: token } }
    } catch (error) {
      if (error instanceof StepFailure) return { failure: error.failure }
      const late = failing(`no token: no whole answer within ${timeoutMs} ms`, false)
      return { failure: signal.aborted ? failing('stopped before it was sent', null) : late }
    }
  }

  /** The first request that is refused with a token has it renewed for all. */
  renew({ authorization = '' }: Readonly<Record<string, string>>): boolean {
    this.#holder.forget(authorization)
    return true
  }

  /** Without a caller's signal and timeout: others wait for the same exchange. @throws StepFailure. */
  async #exchange(): Promise<FetchedToken> {
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
    if (result.type !== 'answer')
      throw new StepFailure(failing(`no token: ${result.error}`, false, result.type === 'not_sent' && result.permanent))
    if (!isSuccess(result.status)) throw new StepFailure(refusal(result))
    return tokenIn(result)
  }
}

function tokenIn({ body, cut }: Answer): FetchedToken {
  if (cut !== null) throw new StepFailure(failing(`no token: the token endpoint's answer ${cut.text}`, cut.isTooLong))
  const read = readTokenAnswer(parseJson(body))
  if (read === null) throw new StepFailure(failing('no token: the token endpoint answered without an access_token', true))
  return { token: `Bearer ${read.token}`, expiresInSeconds: read.expiresInSeconds ?? DEFAULT_LIFETIME_S }
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

function failing(error: string, alive: boolean | null, permanent = false): Failure {
  return { ...localFailure(error, permanent), alive }
}
