import { messageOf, PermanentError } from '../../base/errors.ts'
import { readTokenAnswer } from '../../base/token-holder.ts'
import type { AuthConfig, HttpDestination } from '../../config/config.ts'
import { isObject } from '../../model/json.ts'
import { parseJson } from '../../upstream/http/answer.ts'
import { type Answer, answered, type Failure, isAboutEndpoint, isRefusal, isSuccess, StepFailure } from '../contract/outcomes.ts'
import type { Transport } from '../transport/transport.ts'
import { bodyOf, seen } from './answered.ts'
import { buildRequest } from './build-request.ts'
import type { ExchangedToken } from './stored-token.ts'
import type { Templates } from './templates.ts'
import { basic, noToken } from './token-keeper.ts'

type TokenConfig = Extract<AuthConfig, { type: 'oauth2' | 'password' }>

/** Lifetime of a token, in s, if the answer gives none. */
const DEFAULT_LIFETIME_S = 300
/** Error codes that mean rejected credentials (RFC 6749). */
const WITHDRAWN = new Set(['invalid_client', 'invalid_grant', 'unauthorized_client'])

/**
 * Gets a token with client credentials, a password, or a refresh token.
 * @returns the token as a value for the header `authorization`.
 * @throws StepFailure if no token is obtained.
 */
export async function exchangeToken(
  config: TokenConfig,
  transport: Transport,
  timeoutMs: number,
  refreshToken: string | null = null,
): Promise<ExchangedToken> {
  const { form, authorization } = tokenRequest(config, refreshToken)
  const headers = {
    accept: 'application/json',
    'content-type': 'application/x-www-form-urlencoded',
    ...(authorization !== null && { authorization }),
  }
  const request = { method: 'POST', url: config.tokenUrl, headers, body: form.toString(), timeoutMs }
  return tokenOf(await answerOf(transport, request))
}

/**
 * Sends a token request.
 * @throws StepFailure unless a complete 2xx answer arrives.
 */
export async function answerOf(transport: Transport, request: Parameters<Transport['send']>[0]): Promise<Answer> {
  const result = await transport.send(request, new AbortController().signal)
  if (result.type !== 'answer') throw new StepFailure(noToken(result.error, false, result.type === 'not_sent' && result.permanent))
  if (!isSuccess(result.status)) throw new StepFailure(refusal(result))
  if (result.cut !== null) throw new StepFailure(noToken(`the token endpoint's answer ${result.cut.text}`, result.cut.isTooLong))
  return result
}

function tokenOf(got: Answer): ExchangedToken {
  const answer = parseJson(got.body)
  const read = readTokenAnswer(answer)
  if (read === null) throw new StepFailure(noToken(`the token endpoint ${answered(got)} without an access_token`, true, true, got.status))
  const refreshToken = isObject(answer) ? answer['refresh_token'] : null
  return {
    token: `Bearer ${read.token}`,
    expiresInSeconds: read.expiresInSeconds ?? DEFAULT_LIFETIME_S,
    refreshToken: typeof refreshToken === 'string' && refreshToken !== '' ? refreshToken : null,
  }
}

function tokenRequest(
  config: TokenConfig,
  refreshToken: string | null,
): { readonly form: URLSearchParams; readonly authorization: string | null } {
  const refresh = refreshToken === null ? null : { grant_type: 'refresh_token', refresh_token: refreshToken }
  if (config.type === 'password') {
    const { username, password } = config
    const form = new URLSearchParams(refresh ?? { grant_type: 'password', username, password: password.reveal() })
    setIfGiven(form, { client_id: config.clientId, client_secret: config.clientSecret?.reveal() ?? null, scope: config.scope })
    return { form, authorization: null }
  }
  const form = new URLSearchParams(refresh ?? { grant_type: 'client_credentials' })
  setIfGiven(form, { ...config.fields, scope: config.scope, audience: config.audience })
  const secret = config.clientSecret.reveal()
  if (config.send === 'basic') return { form, authorization: basic(config.clientId, secret) }
  setIfGiven(form, { client_id: config.clientId, client_secret: secret })
  return { form, authorization: null }
}

function setIfGiven(form: URLSearchParams, fields: Readonly<Record<string, string | null>>): void {
  for (const [name, value] of Object.entries(fields)) if (value !== null) form.set(name, value)
}

/**
 * @returns the outcome of a rejected token request. Rejected credentials suspend the destination. A temporary status,
 * such as 429 or 500, is a temporary failure. Other rejections are permanent failures, which `LoginRefusals` counts.
 */
function refusal(answer: Answer): Failure {
  const { status, body, retryAfterMs } = answer
  const parsed = parseJson(body)
  const withdrawn = status === 401 || status === 403 || (status === 400 && isObject(parsed) && WITHDRAWN.has(String(parsed['error'])))
  const why = `the token endpoint ${answered(answer)}`
  if (withdrawn) return { type: 'suspend', retry: 'slowly', status, error: `no token, because the credentials were rejected: ${why}` }
  const permanent = isRefusal(status) || isAboutEndpoint(status)
  return { type: 'failed', permanent, alive: status < 500, status, error: `no token: ${why}`, retryAfterMs }
}

type Login = Extract<AuthConfig, { type: 'login' }>

/**
 * Gets a token with the destination's login, or with its `refresh` request.
 * @param refreshToken null to log in.
 * @returns the token as a header value.
 * @throws StepFailure if no token is obtained.
 */
export async function logIn(
  login: Login,
  { settings, timeoutMs }: Pick<HttpDestination, 'settings' | 'timeoutMs'>,
  transport: Transport,
  templates: Templates,
  refreshToken: string | null = null,
): Promise<ExchangedToken> {
  try {
    const credentials = Object.fromEntries(Object.entries(login.credentials).map(([name, secret]) => [name, secret.reveal()]))
    const request =
      refreshToken === null || login.refresh === null
        ? await buildRequest(templates, 'auth.request', login.request, { credentials, settings })
        : await buildRequest(templates, 'auth.refresh', login.refresh, { credentials, settings, refresh_token: refreshToken })
    return await evaluatedToken(login, await answerOf(transport, { ...request, timeoutMs }), templates)
  } catch (error) {
    if (error instanceof StepFailure) throw error
    throw new StepFailure(noToken(messageOf(error), null, error instanceof PermanentError))
  }
}

async function evaluatedToken({ expiresIn, refreshToken, scheme }: Login, answer: Answer, templates: Templates): Promise<ExchangedToken> {
  const optional = [...(expiresIn === null ? [] : ['auth.expires_in']), ...(refreshToken === null ? [] : ['auth.refresh_token'])]
  const values = await templates.evaluate(['auth.token', ...optional], seen(answer, {}), bodyOf(answer))
  const yielded = (name: string) => values[1 + optional.indexOf(name)] ?? null
  const [token] = values
  if (typeof token !== 'string' || !/^[\x21-\x7e]+$/.test(token))
    throw new StepFailure(noToken(`the login ${answered(answer)}, but auth.token finds no token in the answer`, true, true, answer.status))
  const seconds = optional.includes('auth.expires_in') ? Number(yielded('auth.expires_in')) : 0
  const refresh = optional.includes('auth.refresh_token') ? yielded('auth.refresh_token') : null
  return {
    token: scheme === '' ? token : `${scheme} ${token}`,
    expiresInSeconds: seconds > 0 ? seconds : null,
    refreshToken: typeof refresh === 'string' && refresh !== '' ? refresh : null,
  }
}
