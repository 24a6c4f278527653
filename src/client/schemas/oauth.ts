import { z } from 'zod'
import { integer, text, texts } from './fields.ts'

export const tokenFormSchema = z
  .looseObject({
    grant_type: text('`authorization_code`, `refresh_token`, `client_credentials` or `urn:ietf:params:oauth:grant-type:device_code`'),
    code: text('The code of the authorization'),
    code_verifier: text('The verifier of PKCE'),
    redirect_uri: text('Redirect URI of the authorization'),
    client_id: text('The client; `bac_…` of a machine'),
    client_secret: text('The secret of a machine, `bas_…`'),
    refresh_token: text('The last refresh token'),
    device_code: text('The code of the device'),
    scope: text('Scopes, separated by spaces'),
  })
  .partial()
  .required({ grant_type: true })
  .describe('A request for tokens')

export const tokenSchema = z
  .looseObject({
    access_token: text('Bearer token; lives 60 minutes'),
    refresh_token: text('Rotates on every use; per-user flows only').nullish(),
    token_type: z.unknown().meta({ description: 'Type of the token', 'x-not-shown': 'Whether it is sent' }).optional(),
    expires_in: z.unknown().meta({ description: 'Lifetime', 'x-not-shown': 'Whether it is sent' }).optional(),
    scope: z.unknown().meta({ description: 'Its scopes', 'x-not-shown': 'Whether they are sent, and how' }).optional(),
  })
  .meta({ description: 'Tokens', 'x-not-shown': 'All fields but `access_token` and `refresh_token`' })
export type Token = z.output<typeof tokenSchema>

export const deviceFormSchema = z
  .looseObject({ client_id: text('The client'), scope: text('Scopes, separated by spaces') })
  .partial()
  .describe('A request to authorize a device')

export const deviceAuthorizationSchema = z
  .looseObject({
    device_code: text('The code of the device'),
    user_code: text('Code that the broker enters'),
    verification_uri: text('Address where the broker enters the code'),
    verification_uri_complete: text('The same address with the code').optional(),
    interval: integer('Time between two polls, seconds').optional(),
    expires_in: integer('Time until the codes expire, seconds').optional(),
  })
  .describe('The authorization of a device')
export type DeviceAuthorization = z.output<typeof deviceAuthorizationSchema>

export const registrationSchema = z
  .looseObject({ client_name: text('Name of the client'), redirect_uris: texts('Redirect URIs') })
  .partial()
  .describe('Registers a client')

export const registeredSchema = z
  .looseObject({ client_id: text('The public id of the client') })
  .partial()
  .meta({ description: 'A registered client', 'x-not-shown': 'The body, beyond that it issues a client id' })

export const metadataSchema = z
  .looseObject({
    issuer: text('The issuer'),
    authorization_endpoint: text('Authorization endpoint'),
    token_endpoint: text('Token endpoint'),
    device_authorization_endpoint: text('Device authorization endpoint'),
    registration_endpoint: text('Registration endpoint'),
    grant_types_supported: texts('Supported grant types'),
    scopes_supported: texts('Supported scopes'),
  })
  .partial()
  .describe('Metadata of the authorization server')
export type Metadata = z.output<typeof metadataSchema>
