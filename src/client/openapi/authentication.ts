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
import { form, json, type Operation } from './operation.ts'

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
    errors: ['grant_refused'],
    notShown: 'Parameters beyond PKCE, and the answer',
  },
  {
    ...{ method: 'POST', path: '/oauth/token', operationId: 'exchangeToken', tag: 'authentication' },
    summary: 'Exchanges a grant for tokens',
    scope: 'none',
    body: form(tokenFormSchema),
    answer: json(tokenSchema),
    errors: ['validation_failure', 'grant_refused', 'client_refused'],
    notShown: 'Other fields of the answer',
  },
  {
    ...{ method: 'POST', path: '/oauth/device_authorization', operationId: 'authorizeDevice', tag: 'authentication' },
    summary: 'Starts the authorization of a device (RFC 8628)',
    scope: 'none',
    body: form(deviceFormSchema),
    answer: json(deviceAuthorizationSchema),
    errors: ['validation_failure', 'grant_refused', 'client_refused'],
  },
  {
    ...{ method: 'POST', path: '/oauth/register', operationId: 'registerClient', tag: 'authentication' },
    summary: 'Registers a public client (RFC 7591)',
    scope: 'none',
    body: json(registrationSchema),
    answer: json(registeredSchema),
    errors: ['invalid_input', 'grant_refused', 'registration_limit'],
    notShown: 'The body of the answer, and the rate limit',
  },
  {
    ...{ method: 'GET', path: '/broker/me', operationId: 'getIdentity', tag: 'authentication' },
    summary: 'Who the token belongs to',
    scope: 'broker_mcp',
    answer: json(identitySchema),
    errors: ['inactive_credential'],
  },
]
