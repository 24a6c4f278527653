import type { ActivityLog } from '../service/activity-log.ts'
import type { Grants } from '../service/grants.ts'
import { OAuthError } from '../service/oauth-error.ts'
import { Refusal } from '../service/refusal.ts'
import { parseScopes, type Scope } from '../service/scopes.ts'
import type { TokenPair } from '../service/sessions.ts'
import { LIFETIME_SECONDS, type Tokens } from '../service/tokens.ts'
import type { Unshown } from '../service/unshown.ts'
import type { Answer } from './answers.ts'

export interface TokenEndpointOptions {
  readonly tokens: Tokens
  readonly grants: Grants
  readonly activity: ActivityLog
  readonly unshown: Unshown
  readonly expiresIn: 'number' | 'text' | 'absent'
}

export const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code'
export const grantTypes = ['authorization_code', 'refresh_token', 'client_credentials', DEVICE_GRANT] as const

/** The fields without which a grant cannot be checked. */
const required: Readonly<Record<(typeof grantTypes)[number], readonly string[]>> = {
  authorization_code: ['code', 'redirect_uri', 'client_id', 'code_verifier'],
  refresh_token: ['refresh_token'],
  client_credentials: [],
  [DEVICE_GRANT]: ['device_code', 'client_id'],
}

/** @throws Refusal that names the fields which a form does not have. */
export function requireFields(form: URLSearchParams, names: readonly string[]): void {
  const missing = names.filter((name) => !form.get(name))
  if (missing.length === 0) return
  const problems = missing.map((name) => ({ loc: ['body', name], msg: 'Field required', type: 'missing' }))
  throw new Refusal('validation_failure', problems)
}

/** @returns an error as OAuth has it, with the `detail` of the service's errors. */
export function oauthAnswer(
  { code, message, headers }: OAuthError,
  condition: 'grant_refused' | 'client_refused',
  unshown: Unshown,
): Answer {
  const body = { error: code, error_description: message, detail: message }
  const isText = unshown.word('oauth_errors') === 'detail_text'
  return { status: unshown.status(condition), body: isText ? { detail: code } : body, headers, condition }
}

/** @returns the same, where the client or its credential may be what is refused. */
export function grantAnswer(error: OAuthError, unshown: Unshown): Answer {
  return oauthAnswer(error, error.code === 'invalid_client' ? 'client_refused' : 'grant_refused', unshown)
}

/** Answers a request at the token endpoint. */
export function exchange(form: URLSearchParams, options: TokenEndpointOptions): Answer {
  requireFields(form, ['grant_type'])
  const grantType = grantTypes.find((known) => known === form.get('grant_type'))
  if (!grantType) return grantAnswer(new OAuthError('unsupported_grant_type', 'unsupported_grant_type'), options.unshown)
  requireFields(form, required[grantType])
  try {
    return grant(grantType, form, options)
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error
    options.activity.counts.tokensRefused++
    return grantAnswer(error, options.unshown)
  }
}

function grant(grantType: (typeof grantTypes)[number], form: URLSearchParams, options: TokenEndpointOptions): Answer {
  const { authorizations, devices, sessions } = options.grants
  const field = (name: string) => form.get(name) ?? ''
  switch (grantType) {
    case 'client_credentials':
      return machineToken(form, options)
    case 'authorization_code': {
      const request = {
        code: field('code'),
        clientId: field('client_id'),
        redirectUri: field('redirect_uri'),
        verifier: field('code_verifier'),
      }
      return tokenAnswer(authorizations.redeem(request), options)
    }
    case 'refresh_token':
      return tokenAnswer(sessions.refresh(field('refresh_token'), form.get('client_id'), scopesOf(form)), options)
    case DEVICE_GRANT:
      return tokenAnswer(devices.poll(field('device_code'), field('client_id')), options)
  }
}

/** "The key's scopes are a ceiling for tokens minted from it." Without a scope all of them are granted. */
function machineToken(form: URLSearchParams, options: TokenEndpointOptions): Answer {
  const caller = options.tokens.find(form.get('client_id') ?? '', form.get('client_secret') ?? '')
  if (!caller?.credential.active) throw new OAuthError('invalid_client', 'invalid_client')
  const asked = scopesOf(form) ?? caller.scopes
  const scopes = asked.filter((scope) => caller.scopes.includes(scope))
  const isCut = options.unshown.word('scope_above_ceiling') === 'cut' && scopes.length > 0
  if (scopes.length < asked.length && !isCut) throw new OAuthError('invalid_scope', 'invalid_scope')
  // "Machine credentials get no refresh token and re-exchange instead."
  return tokenAnswer({ accessToken: options.tokens.mint({ ...caller, scopes }), scopes }, options)
}

/** @returns the scopes that a form asks for; null when it says nothing of them. @throws OAuthError for unknown ones, and for none. */
export function scopesOf(form: URLSearchParams): Scope[] | null {
  const text = form.get('scope')
  const scopes = text === null ? null : parseScopes(text)
  if (text !== null && (!scopes || scopes.length === 0))
    throw new OAuthError('invalid_scope', 'scope must be broker_mcp, broker_submit or both')
  return scopes
}

function tokenAnswer(pair: Omit<TokenPair, 'refreshToken'> & Partial<TokenPair>, { activity, expiresIn }: TokenEndpointOptions): Answer {
  activity.counts.tokensMinted++
  const tokens = { access_token: pair.accessToken, ...(pair.refreshToken !== undefined && { refresh_token: pair.refreshToken }) }
  if (expiresIn === 'absent') return { status: 200, body: tokens }
  const expires_in = expiresIn === 'text' ? String(LIFETIME_SECONDS) : LIFETIME_SECONDS
  return { status: 200, body: { ...tokens, token_type: 'Bearer', expires_in, scope: pair.scopes.join(' ') } }
}
