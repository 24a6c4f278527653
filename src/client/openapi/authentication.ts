import { z } from 'zod'
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
import { type Endpoint, form, get, json, post } from './operation.ts'

const parameter = (name: string, description: string) => ({ name, schema: text(description) })

/** "Authentication endpoints." */
export const authenticationOperations: readonly Endpoint[] = [
  get('/oauth/.well-known/oauth-authorization-server', 'getMetadata', {
    scope: 'none',
    summary: 'Metadata of the authorization server',
    answer: json(metadataSchema),
    errors: [],
  }),
  get('/oauth/authorize', 'authorize', {
    scope: 'none',
    summary: 'Starts the authorization-code flow with PKCE',
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
    errors: ['grant_refused'],
    notShown: 'Parameters beyond PKCE, and the answer',
  }),
  post('/oauth/token', 'exchangeToken', {
    scope: 'none',
    summary: 'Exchanges a grant for tokens',
    body: form(tokenFormSchema),
    answer: json(tokenSchema),
    errors: ['validation_failure', 'grant_refused', 'client_refused'],
    notShown: 'Other fields of the answer',
  }),
  post('/oauth/device_authorization', 'authorizeDevice', {
    scope: 'none',
    summary: 'Starts the authorization of a device (RFC 8628)',
    body: form(deviceFormSchema),
    answer: json(deviceAuthorizationSchema),
    errors: ['validation_failure', 'grant_refused', 'client_refused'],
  }),
  post('/oauth/register', 'registerClient', {
    scope: 'none',
    summary: 'Registers a public client (RFC 7591)',
    body: json(registrationSchema),
    answer: json(registeredSchema),
    errors: ['invalid_input', 'grant_refused', 'registration_limit'],
    notShown: 'The body of the answer, and the rate limit',
  }),
  get('/broker/me', 'getIdentity', {
    summary: 'Who the token belongs to',
    answer: json(identitySchema),
    errors: ['inactive_credential'],
  }),
]
