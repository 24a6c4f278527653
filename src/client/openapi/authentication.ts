import { z } from 'zod'
import { oauthErrorSchema, validationErrorSchema } from '../schemas/errors.ts'
import { text } from '../schemas/fields.ts'
import { identitySchema } from '../schemas/identity.ts'
import {
  deviceAuthorizationSchema,
  deviceFormSchema,
  metadataSchema,
  registeredSchema,
  registrationSchema,
  tokenFormSchema,
  tokenSchema,
} from '../schemas/oauth.ts'
import { chosen, form, json, type Operation, outOfScope, shown, unauthenticated } from './operation.ts'

const parameter = (name: string, description: string) => ({ name, schema: text(description) })

/** "Authentication endpoints." */
export const authenticationOperations: readonly Operation[] = [
  {
    ...{ method: 'GET', path: '/oauth/.well-known/oauth-authorization-server', operationId: 'getMetadata', tag: 'authentication' },
    summary: 'Metadata of the authorization server',
    scope: 'none',
    answer: json(metadataSchema),
    errors: [],
  },
  {
    ...{ method: 'GET', path: '/oauth/authorize', operationId: 'authorize', tag: 'authentication' },
    summary: 'Starts the authorization-code flow with PKCE',
    scope: 'none',
    query: [
      parameter('response_type', 'RFC 6749: `code`'),
      parameter('client_id', 'The client'),
      parameter('redirect_uri', 'Where the code is sent to'),
      parameter('scope', 'Scopes, separated by spaces'),
      parameter('state', 'Comes back with the code'),
      parameter('code_challenge', 'The challenge of PKCE'),
      parameter('code_challenge_method', 'RFC 7636: `S256`'),
    ],
    answer: { type: 'text/html', schema: z.string().describe('A page for the broker, or a redirect to the client') },
    errors: [chosen(400, 'The request is not valid', oauthErrorSchema)],
    notShown: 'Parameters beyond PKCE, and the answer',
  },
  {
    ...{ method: 'POST', path: '/oauth/token', operationId: 'exchangeToken', tag: 'authentication' },
    summary: 'Exchanges a grant for tokens',
    scope: 'none',
    body: form(tokenFormSchema),
    answer: json(tokenSchema),
    errors: [
      shown(422, 'Validation failure', validationErrorSchema),
      chosen(400, 'The grant is refused; `authorization_pending` until a device is approved', oauthErrorSchema),
      chosen(401, 'The credential is unknown, wrong or revoked', oauthErrorSchema),
    ],
    notShown: 'Other fields of the answer',
  },
  {
    ...{ method: 'POST', path: '/oauth/device_authorization', operationId: 'authorizeDevice', tag: 'authentication' },
    summary: 'Starts the authorization of a device (RFC 8628)',
    scope: 'none',
    body: form(deviceFormSchema),
    answer: json(deviceAuthorizationSchema),
    errors: [
      shown(422, 'Validation failure', validationErrorSchema),
      chosen(400, 'The request is refused', oauthErrorSchema),
      chosen(401, 'The client is unknown', oauthErrorSchema),
    ],
  },
  {
    ...{ method: 'POST', path: '/oauth/register', operationId: 'registerClient', tag: 'authentication' },
    summary: 'Registers a public client (RFC 7591)',
    scope: 'none',
    body: json(registrationSchema),
    answer: json(registeredSchema),
    errors: [
      chosen(400, 'The registration is not valid', oauthErrorSchema),
      chosen(429, 'Too many registrations from one address', oauthErrorSchema),
    ],
    notShown: 'The body of the answer, and the rate limit',
  },
  {
    ...{ method: 'GET', path: '/broker/me', operationId: 'getIdentity', tag: 'authentication' },
    summary: 'Who the token belongs to',
    scope: 'broker_mcp',
    answer: json(identitySchema),
    errors: [{ ...unauthenticated, when: 'No token, one that is not valid, or the account or credential is no longer active' }, outOfScope],
  },
]
