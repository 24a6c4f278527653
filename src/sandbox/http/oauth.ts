import type { FastifyInstance } from 'fastify'
import { type ActivityLog, requestRecord } from '../service/activity-log.ts'
import { parseScopes } from '../service/scopes.ts'
import { LIFETIME_SECONDS, type Tokens } from '../service/tokens.ts'
import { type Answer, answer, type FaultSources, validationError } from './answers.ts'

export interface OAuthOptions extends FaultSources {
  readonly tokens: Tokens
  readonly activity: ActivityLog
  readonly expiresIn: 'number' | 'text' | 'absent'
  /** A function, because the port is only known once the server listens. */
  readonly baseUrl: () => string
}

/** The token endpoint (client credentials only) and its metadata document. */
export function registerOAuth(app: FastifyInstance, options: OAuthOptions): void {
  const { activity, tokens } = options

  app.get('/oauth/.well-known/oauth-authorization-server', async (request, reply) => {
    activity.request(requestRecord('metadata', request))
    return answer(reply, { operation: 'metadata' }, options, () => metadata(options.baseUrl()))
  })

  app.post('/oauth/token', async (request, reply) => {
    activity.request(requestRecord('token', request))
    const form = request.body instanceof URLSearchParams ? request.body : new URLSearchParams()
    const account = tokens.find(form.get('client_id') ?? '', form.get('client_secret') ?? '')?.account.name
    return answer(reply, { operation: 'token', account }, options, () => exchange(form, options))
  })
}

function exchange(form: URLSearchParams, options: OAuthOptions): Answer {
  const { activity, tokens } = options
  const grantType = form.get('grant_type')
  if (grantType === null) return validationError([{ loc: ['body', 'grant_type'], msg: 'Field required', type: 'missing' }])
  if (grantType !== 'client_credentials') return oauthError(400, 'unsupported_grant_type')
  const caller = tokens.find(form.get('client_id') ?? '', form.get('client_secret') ?? '')
  if (!caller?.credential.active) {
    activity.counts.tokensRefused++
    return oauthError(401, 'invalid_client')
  }
  // "The key's scopes are a ceiling for tokens minted from it."
  const asked = form.get('scope')
  const scopes = asked === null ? caller.scopes : parseScopes(asked)
  if (!scopes || scopes.length === 0 || !scopes.every((scope) => caller.scopes.includes(scope))) return oauthError(400, 'invalid_scope')
  activity.counts.tokensMinted++
  const token = { access_token: tokens.mint({ ...caller, scopes }) }
  if (options.expiresIn === 'absent') return { status: 200, body: token }
  const expires_in = options.expiresIn === 'text' ? String(LIFETIME_SECONDS) : LIFETIME_SECONDS
  return { status: 200, body: { ...token, token_type: 'Bearer', expires_in, scope: scopes.join(' ') } }
}

function oauthError(status: number, error: string): Answer {
  return { status, body: { error, detail: error } }
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
      grant_types_supported: ['authorization_code', 'refresh_token', 'client_credentials', 'urn:ietf:params:oauth:grant-type:device_code'],
      scopes_supported: ['broker_mcp', 'broker_submit'],
    },
  }
}
