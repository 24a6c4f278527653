import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Account } from '../service/accounts.ts'
import { requestRecord } from '../service/activity-log.ts'
import type { AuthorizationRequest } from '../service/authorizations.ts'
import type { Operation } from '../service/faults.ts'
import type { BuiltParts } from '../service/parts.ts'
import { OAuthError, parseBody, Refusal } from '../service/refusal.ts'
import { parseScopes, type Scope, scopes } from '../service/scopes.ts'
import type { TokenPair } from '../service/sessions.ts'
import { LIFETIME_SECONDS } from '../service/tokens.ts'
import type { Unshown } from '../service/unshown.ts'
import { type Answer, answer } from './answers.ts'
import { jsonOf } from './body.ts'

const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code'
const grantTypes = ['authorization_code', 'refresh_token', 'client_credentials', DEVICE_GRANT] as const

const required: Readonly<Record<(typeof grantTypes)[number], readonly string[]>> = {
  authorization_code: ['code', 'redirect_uri', 'client_id', 'code_verifier'],
  refresh_token: ['refresh_token'],
  client_credentials: [],
  [DEVICE_GRANT]: ['device_code', 'client_id'],
}

interface Addresses {
  readonly baseUrl: string
  readonly origin: string
}

const registration = z.object({
  client_name: z.string().max(200).default(''),
  redirect_uris: z.array(z.string().max(2_000)).min(1).max(20),
})

/** Adds the authentication endpoints. These endpoints require no token. */
export function registerOAuth(app: FastifyInstance, parts: BuiltParts, addresses: () => Addresses): void {
  const { activity, tokens, unshown } = parts
  const on = (
    method: 'GET' | 'POST',
    path: string,
    operation: Operation,
    compute: (request: FastifyRequest, form: URLSearchParams) => Answer,
    refused = (error: OAuthError) => oauthAnswer(error, 'grant_refused', unshown),
  ) => {
    const handler = (request: FastifyRequest, reply: FastifyReply) => {
      activity.request(requestRecord(operation, request))
      const form = request.body instanceof URLSearchParams ? request.body : new URLSearchParams()
      const account = tokens.find(form.get('client_id') ?? '', form.get('client_secret') ?? '')?.account.name
      return answer(reply, { operation, account }, parts, () => orRefused(() => compute(request, form), refused))
    }
    app.route({ method, url: `/oauth/${path}`, handler })
  }
  on('GET', '.well-known/oauth-authorization-server', 'metadata', () => metadata(addresses().baseUrl))
  on('POST', 'token', 'token', (_request, form) => exchange(form, parts))
  on('GET', 'authorize', 'authorize', ({ url }) => authorize(new URL(url, 'http://sandbox.invalid').searchParams, parts, addresses()))
  const refusedDevice = (error: OAuthError) => grantAnswer(error, unshown)
  on('POST', 'device_authorization', 'device', (_request, form) => startDevice(form, parts, addresses()), refusedDevice)
  on('POST', 'register', 'register', (request) => register(request, parts))
}

function orRefused(compute: () => Answer, refused: (error: OAuthError) => Answer): Answer {
  try {
    return compute()
  } catch (error) {
    if (error instanceof OAuthError) return refused(error)
    throw error
  }
}

function authorize(query: URLSearchParams, { accounts, grants }: BuiltParts, { origin }: Addresses): Answer {
  const request = grants.authorizations.read(query)
  if (request.problem) return { status: 302, body: '', headers: { location: grants.authorizations.deny(request) } }
  return {
    status: 200,
    contentType: 'text/html; charset=utf-8',
    body: approvalPage(request, query, [...accounts.values()], origin),
    headers: { 'content-security-policy': "default-src 'none'" },
  }
}

function startDevice(form: URLSearchParams, { grants }: BuiltParts, { origin }: Addresses): Answer {
  requireFields(form, ['client_id'])
  const device = grants.devices.start(form.get('client_id') ?? '', scopesOf(form) ?? scopes)
  // Brokers approve a device on the sandbox's page.
  const verification_uri = `${origin}/`
  const body = {
    device_code: device.deviceCode,
    user_code: device.userCode,
    verification_uri,
    verification_uri_complete: `${verification_uri}?user_code=${device.userCode}`,
    expires_in: device.expiresInSeconds,
    interval: device.intervalSeconds,
  }
  return { status: 200, body }
}

function register(request: FastifyRequest, { clock, grants, unshown }: BuiltParts): Answer {
  const { client_name, redirect_uris } = parseBody(registration, jsonOf(request))
  const { clientId: client_id } = grants.clients.register(client_name, redirect_uris, request.ip)
  if (unshown.word('register_answer') === 'client_id') return { status: 201, body: { client_id } }
  const rest = { grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'], token_endpoint_auth_method: 'none' }
  const client_id_issued_at = Math.floor(clock.now() / 1000)
  return { status: 201, body: { client_id, client_id_issued_at, client_name, redirect_uris, ...rest } }
}

function metadata(baseUrl: string): Answer {
  return {
    status: 200,
    body: {
      issuer: baseUrl,
      token_endpoint: `${baseUrl}/oauth/token`,
      authorization_endpoint: `${baseUrl}/oauth/authorize`,
      device_authorization_endpoint: `${baseUrl}/oauth/device_authorization`,
      registration_endpoint: `${baseUrl}/oauth/register`,
      grant_types_supported: grantTypes,
      response_types_supported: ['code'],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['none', 'client_secret_post'],
      scopes_supported: scopes,
    },
  }
}

function requireFields(form: URLSearchParams, names: readonly string[]): void {
  const missing = names.filter((name) => !form.get(name))
  if (missing.length === 0) return
  const problems = missing.map((name) => ({ loc: ['body', name], msg: 'Field required', type: 'missing' }))
  throw new Refusal('validation_failure', problems)
}

function oauthAnswer({ code, message, headers }: OAuthError, condition: 'grant_refused' | 'client_refused', unshown: Unshown): Answer {
  const body = { error: code, error_description: message, detail: message }
  const isText = unshown.word('oauth_errors') === 'detail_text'
  return { status: unshown.status(condition), body: isText ? { detail: code } : body, headers, condition }
}

function grantAnswer(error: OAuthError, unshown: Unshown): Answer {
  return oauthAnswer(error, error.code === 'invalid_client' ? 'client_refused' : 'grant_refused', unshown)
}

function exchange(form: URLSearchParams, parts: BuiltParts): Answer {
  requireFields(form, ['grant_type'])
  const grantType = grantTypes.find((known) => known === form.get('grant_type'))
  if (!grantType) return grantAnswer(new OAuthError('unsupported_grant_type', 'unsupported_grant_type'), parts.unshown)
  requireFields(form, required[grantType])
  try {
    return grant(grantType, form, parts)
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error
    parts.activity.counts.tokensRefused++
    return grantAnswer(error, parts.unshown)
  }
}

function grant(grantType: (typeof grantTypes)[number], form: URLSearchParams, parts: BuiltParts): Answer {
  const { authorizations, devices, sessions } = parts.grants
  const field = (name: string) => form.get(name) ?? ''
  switch (grantType) {
    case 'client_credentials':
      return machineToken(form, parts)
    case 'authorization_code': {
      const request = {
        code: field('code'),
        clientId: field('client_id'),
        redirectUri: field('redirect_uri'),
        verifier: field('code_verifier'),
      }
      return tokenAnswer(authorizations.redeem(request), parts)
    }
    case 'refresh_token':
      return tokenAnswer(sessions.refresh(field('refresh_token'), form.get('client_id'), scopesOf(form)), parts)
    case DEVICE_GRANT:
      return tokenAnswer(devices.poll(field('device_code'), field('client_id')), parts)
  }
}

/**
 * Exchanges a key for a token. Without a scope field, the token gets all scopes of the key. A token never gets a scope
 * that the key lacks.
 */
function machineToken(form: URLSearchParams, parts: BuiltParts): Answer {
  const caller = parts.tokens.find(form.get('client_id') ?? '', form.get('client_secret') ?? '')
  if (!caller?.credential.active) throw new OAuthError('invalid_client', 'invalid_client')
  const asked = scopesOf(form) ?? caller.scopes
  const scopes = asked.filter((scope) => caller.scopes.includes(scope))
  const isCut = parts.unshown.word('scope_above_ceiling') === 'cut' && scopes.length > 0
  if (scopes.length < asked.length && !isCut) throw new OAuthError('invalid_scope', 'invalid_scope')
  // A machine credential gets no refresh token. The client sends the credential again instead.
  return tokenAnswer({ accessToken: parts.tokens.mint({ ...caller, scopes }), scopes }, parts)
}

/**
 * @returns the requested scopes; null if the form has no scope field.
 * @throws OAuthError if a scope is unknown or the field is empty.
 */
function scopesOf(form: URLSearchParams): Scope[] | null {
  const text = form.get('scope')
  const scopes = text === null ? null : parseScopes(text)
  if (text !== null && (!scopes || scopes.length === 0))
    throw new OAuthError('invalid_scope', 'scope must be broker_mcp, broker_submit or both')
  return scopes
}

function tokenAnswer(pair: Omit<TokenPair, 'refreshToken'> & Partial<TokenPair>, { activity, unshown }: BuiltParts): Answer {
  activity.counts.tokensMinted++
  const expiresIn = unshown.word('expires_in')
  const tokens = { access_token: pair.accessToken, ...(pair.refreshToken !== undefined && { refresh_token: pair.refreshToken }) }
  if (expiresIn === 'absent') return { status: 200, body: tokens }
  const expires_in = expiresIn === 'text' ? String(LIFETIME_SECONDS) : LIFETIME_SECONDS
  return { status: 200, body: { ...tokens, token_type: 'Bearer', expires_in, scope: pair.scopes.join(' ') } }
}

function approvalPage(
  { client, scopes }: AuthorizationRequest,
  query: URLSearchParams,
  accounts: readonly Account[],
  origin: string,
): Buffer {
  const link = (fields: Readonly<Record<string, string>>, text: string) =>
    `<li><a href="${escapeHtml(`${origin}/_sandbox/authorize-as?${new URLSearchParams({ ...Object.fromEntries(query), ...fields })}`)}">${escapeHtml(text)}</a></li>`
  const users = accounts.flatMap((account) =>
    account.users
      .filter(({ active }) => active)
      .map(({ email, role }) => link({ account: account.name, email }, `${email} (${role}, ${account.brokerage.name})`)),
  )
  const denier = accounts[0]?.users[0]?.email ?? ''
  return Buffer.from(`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Approve ${escapeHtml(client.name)}</title></head>
<body>
<h1>Approve a connected app</h1>
<p>${escapeHtml(client.name || 'A client')} asks for ${escapeHtml(scopes.join(' '))}. Approve as:</p>
<ul>
${users.join('\n')}
</ul>
<p>Or do not:</p>
<ul>
${link({ email: denier, deny: '1' }, 'Deny')}
</ul>
</body>
</html>
`)
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
