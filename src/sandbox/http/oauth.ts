import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Account } from '../service/accounts.ts'
import { requestRecord } from '../service/activity-log.ts'
import { OAuthError } from '../service/oauth-error.ts'
import { parseBody } from '../service/parse.ts'
import { scopes } from '../service/scopes.ts'
import { type Answer, type AnswerSources, answer } from './answers.ts'
import { approvalPage } from './approval-page.ts'
import { jsonOf } from './body.ts'
import { exchange, grantAnswer, grantTypes, oauthAnswer, requireFields, scopesOf, type TokenEndpointOptions } from './token-endpoint.ts'

export interface OAuthOptions extends AnswerSources, TokenEndpointOptions {
  readonly accounts: ReadonlyMap<string, Account>
  /** Functions, because the port is only known once the server listens. */
  readonly baseUrl: () => string
  readonly origin: () => string
}

const registration = z.object({
  client_name: z.string().max(200).default(''),
  redirect_uris: z.array(z.string().max(2_000)).min(1).max(20),
})

/** The authentication endpoints. All of them are public. */
export function registerOAuth(app: FastifyInstance, options: OAuthOptions): void {
  const { activity, tokens, unshown } = options
  const refused = (error: OAuthError) => oauthAnswer(error, 'grant_refused', unshown)
  const formOf = (body: unknown) => (body instanceof URLSearchParams ? body : new URLSearchParams())

  app.get('/oauth/.well-known/oauth-authorization-server', async (request, reply) => {
    activity.request(requestRecord('metadata', request))
    return answer(reply, { operation: 'metadata' }, options, () => metadata(options.baseUrl()))
  })
  app.post('/oauth/token', async (request, reply) => {
    activity.request(requestRecord('token', request))
    const form = formOf(request.body)
    const account = tokens.find(form.get('client_id') ?? '', form.get('client_secret') ?? '')?.account.name
    return answer(reply, { operation: 'token', account }, options, () => exchange(form, options))
  })
  app.get('/oauth/authorize', async (request, reply) => {
    activity.request(requestRecord('authorize', request))
    const query = new URL(request.url, 'http://sandbox.invalid').searchParams
    return answer(reply, { operation: 'authorize' }, options, () => orRefused(() => authorize(query, options), refused))
  })
  app.post('/oauth/device_authorization', async (request, reply) => {
    activity.request(requestRecord('device', request))
    const form = formOf(request.body)
    return answer(reply, { operation: 'device' }, options, () =>
      orRefused(
        () => startDevice(form, options),
        (error) => grantAnswer(error, unshown),
      ),
    )
  })
  app.post('/oauth/register', async (request, reply) => {
    activity.request(requestRecord('register', request))
    return answer(reply, { operation: 'register' }, options, () => orRefused(() => register(request, options), refused))
  })
}

function orRefused(compute: () => Answer, refused: (error: OAuthError) => Answer): Answer {
  try {
    return compute()
  } catch (error) {
    if (error instanceof OAuthError) return refused(error)
    throw error
  }
}

/** Shows the brokers who may approve, or sends the browser back with what is wrong. */
function authorize(query: URLSearchParams, { accounts, grants, origin }: OAuthOptions): Answer {
  const request = grants.authorizations.read(query)
  if (request.problem) return { status: 302, body: '', headers: { location: grants.authorizations.deny(request) } }
  return {
    status: 200,
    contentType: 'text/html; charset=utf-8',
    body: approvalPage(request, query, [...accounts.values()], origin()),
    headers: { 'content-security-policy': "default-src 'none'" },
  }
}

function startDevice(form: URLSearchParams, options: OAuthOptions): Answer {
  requireFields(form, ['client_id'])
  const device = options.grants.devices.start(form.get('client_id') ?? '', scopesOf(form) ?? scopes)
  // The sandbox's page is where a broker approves.
  const verification_uri = `${options.origin()}/`
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

function register(request: FastifyRequest, { clock, grants, unshown }: OAuthOptions): Answer {
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
