import { z } from 'zod'
import { known, text, texts } from './fields.ts'

const activeStates = texts('US states where the service is active; null means no gating').nullable().optional()
const brokerage = z.unknown().meta({ description: 'The brokerage', 'x-not-shown': 'The shape' }).optional()

const userSchema = z
  .looseObject({
    kind: z.literal('user'),
    id: text('The user').optional(),
    email: text('E-mail address').optional(),
    full_name: text('Full name').optional(),
    role: text('Role in the brokerage').optional(),
    brokerage,
    active_states: activeStates,
  })
  .describe('A user')

const apiClientSchema = z
  .looseObject({
    kind: z.literal('api_client'),
    client_id: text('Public id beginning `bac_`').optional(),
    label: text('Label of the key').optional(),
    scope: z.unknown().meta({ description: 'The granted scopes', 'x-not-shown': 'Whether it is a text or a list' }).optional(),
    brokerage,
    active_states: activeStates,
  })
  .describe('A machine credential')

/** Owner of a token. `kind` is `user` or `api_client`; other kinds are accepted. */
export const identitySchema = z
  .union([userSchema, apiClientSchema, z.looseObject({ kind: known(['user', 'api_client'], 'Kind of the owner') })])
  .describe('Owner of the token')
export type Identity = z.output<typeof identitySchema>
