import type { Clock } from '../../base/clock.ts'
import type { AuthConfig } from '../../config/config.ts'
import { isObject } from '../../model/json.ts'
import { parseJson } from '../../upstream/http/answer.ts'
import { type Answer, answered, type Failure, isSuccess } from '../contract/outcomes.ts'
import type { Transport } from '../transport/transport.ts'
import type { Auth, AuthHeaders } from './auth.ts'
import { basic } from './basic.ts'

type TokenConfig = Extract<AuthConfig, { type: 'oauth2' | 'password' }>

interface Live {
  readonly headers: Readonly<Record<string, string>>
  readonly renewAt: number
}

/** A token is renewed after this part of its lifetime, less up to a tenth by chance, so that processes do not renew together. */
const RENEW_AFTER = 0.9
const RENEW_JITTER = 0.1
/** Of a token whose lifetime is not told. */
const UNTOLD_LIFETIME_S = 300
/** By these (RFC 6749) a token endpoint says that the credentials themselves are no good. */
const WITHDRAWN = new Set(['invalid_client', 'invalid_grant', 'unauthorized_client'])

/** Tokens of one destination, by client credentials or by password. One exchange at a time, however many wait for it. */
export class TokenKeeper implements Auth {
  readonly #config: TokenConfig
  readonly #transport: Transport
  readonly #clock: Clock
  readonly #timeoutMs: number
  #live: Live | null = null
  #flight: Promise<AuthHeaders> | null = null

  /** @param timeoutMs of each exchange, whoever waits for it. */
  constructor(config: TokenConfig, transport: Transport, clock: Clock, timeoutMs: number) {
    this.#config = config
    this.#transport = transport
    this.#clock = clock
    this.#timeoutMs = timeoutMs
  }

  async headers(timeoutMs: number, signal: AbortSignal): Promise<AuthHeaders> {
    if (this.#live !== null && this.#clock.now() < this.#live.renewAt) return { headers: this.#live.headers }
    // Nobody's signal, and nobody's time: others wait for the same exchange.
    this.#flight ??= this.#exchange().finally(() => {
      this.#flight = null
    })
    return await inTime(this.#flight, timeoutMs, signal)
  }

  /** Of many who sent the same token, the first to be refused has it renewed for all. */
  renew(headers: Readonly<Record<string, string>>): boolean {
    if (this.#live?.headers === headers) this.#live = null
    return true
  }

  async #exchange(): Promise<AuthHeaders> {
    const { tokenUrl } = this.#config
    const { form, authorization } = askingOf(this.#config)
    const headers = {
      accept: 'application/json',
      'content-type': 'application/x-www-form-urlencoded',
      ...(authorization !== null && { authorization }),
    }
    const request = { method: 'POST', url: tokenUrl, headers, body: form.toString(), timeoutMs: this.#timeoutMs }
    const result = await this.#transport.send(request, new AbortController().signal)
    // Whatever became of this request, the message itself was not sent.
    if (result.type !== 'answer') {
      return failing(`no token: ${result.error}`, { permanent: result.type === 'not_sent' && result.permanent, alive: false })
    }
    return isSuccess(result.status) ? this.#take(result) : { failure: refusal(result) }
  }

  #take({ body, cut }: Answer): AuthHeaders {
    if (cut !== null) return failing(`no token: the token endpoint's answer ${cut.text}`, { permanent: false, alive: cut.isTooLong })
    const answer = parseJson(body)
    const token = isObject(answer) ? answer['access_token'] : undefined
    // What cannot stand in a header is no token.
    if (!isObject(answer) || typeof token !== 'string' || !/^[\x21-\x7e]+$/.test(token)) {
      return failing('no token: the token endpoint answered without an access_token', { permanent: false, alive: true })
    }
    const told = Number(answer['expires_in'] ?? Number.NaN)
    const lifetimeMs = (told > 0 ? told : UNTOLD_LIFETIME_S) * 1000
    const headers = { authorization: `Bearer ${token}` }
    this.#live = { headers, renewAt: this.#clock.now() + lifetimeMs * (RENEW_AFTER - RENEW_JITTER * this.#clock.random()) }
    return { headers }
  }
}

/** @returns the form, and the header beside it when the client's id and secret go there. */
function askingOf(config: TokenConfig): { readonly form: URLSearchParams; readonly authorization: string | null } {
  if (config.type === 'password') {
    const form = new URLSearchParams({ grant_type: 'password', username: config.username, password: config.password.reveal() })
    setWhereGiven(form, { client_id: config.clientId, client_secret: config.clientSecret?.reveal() ?? null, scope: config.scope })
    return { form, authorization: null }
  }
  const form = new URLSearchParams({ grant_type: 'client_credentials' })
  setWhereGiven(form, { scope: config.scope, audience: config.audience })
  const secret = config.clientSecret.reveal()
  if (config.send === 'basic') return { form, authorization: basic(config.clientId, secret) }
  setWhereGiven(form, { client_id: config.clientId, client_secret: secret })
  return { form, authorization: null }
}

function setWhereGiven(form: URLSearchParams, fields: Readonly<Record<string, string | null>>): void {
  for (const [name, value] of Object.entries(fields)) if (value !== null) form.set(name, value)
}

/** Credentials that are refused stay so: only an operator can help. */
function refusal(answer: Answer): Failure {
  const { status, body, retryAfterMs } = answer
  const parsed = parseJson(body)
  const withdrawn = status === 401 || status === 403 || (status === 400 && isObject(parsed) && WITHDRAWN.has(String(parsed['error'])))
  const error = `no token: the token endpoint ${answered(answer)}`
  if (withdrawn) return { type: 'stop', state: 'parked', status, error: `${error}: it refuses the credentials` }
  return { type: 'failed', permanent: false, alive: status < 500, status, error, retryAfterMs }
}

function failing(error: string, { permanent, alive }: { readonly permanent: boolean; readonly alive: boolean | null }): AuthHeaders {
  return { failure: { type: 'failed', permanent, alive, status: null, error, retryAfterMs: null } }
}

/** Waits for `flight`, but no longer than `timeoutMs` and `signal` allow; the flight itself goes on. */
async function inTime(flight: Promise<AuthHeaders>, timeoutMs: number, signal: AbortSignal): Promise<AuthHeaders> {
  const given = failing('given up before it was sent', { permanent: false, alive: null })
  if (signal.aborted) return given
  const over = Promise.withResolvers<AuthHeaders>()
  const leave = (): void => over.resolve(given)
  const late = failing(`no token: no whole answer within ${timeoutMs} ms`, { permanent: false, alive: false })
  const timer = setTimeout(() => over.resolve(late), timeoutMs)
  signal.addEventListener('abort', leave, { once: true })
  try {
    return await Promise.race([flight, over.promise])
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', leave)
  }
}
