import type { z } from 'zod'
import { errorSchema, validationErrorSchema } from '../schemas/errors.ts'

/** A query parameter or a header. */
export interface Parameter {
  readonly name: string
  readonly required?: boolean
  readonly schema: z.ZodType
}

/** An error of an endpoint. */
export interface ErrorRow {
  readonly status: number
  readonly when: string
  readonly schema: z.ZodType
  /** Whether the specification gives the number. Otherwise it is the emulator's choice. */
  readonly isShown: boolean
}

/** One endpoint of the specification. */
export interface Operation {
  readonly method: 'GET' | 'POST' | 'PUT'
  /** Below the base URL. */
  readonly path: string
  readonly operationId: string
  readonly tag: string
  readonly summary: string
  /** What the token must grant. `any`: a token of any scope; `none`: no token. */
  readonly scope: 'broker_mcp' | 'broker_submit' | 'any' | 'none'
  /** "Market-access changes need the admin role." */
  readonly role?: 'admin'
  /** "Product selection is portal-session only." */
  readonly isPortalSessionOnly?: boolean
  readonly query?: readonly Parameter[]
  readonly headers?: readonly Parameter[]
  readonly body?: { readonly type: BodyType; readonly schema: z.ZodType; readonly isOptional?: boolean }
  readonly answer: { readonly type: 'application/json' | 'application/pdf' | 'text/html'; readonly schema: z.ZodType }
  readonly errors: readonly ErrorRow[]
  /** What the specification does not show of it. */
  readonly notShown?: string
}

export type BodyType = 'application/json' | 'application/x-www-form-urlencoded' | 'multipart/form-data'

export const json = (schema: z.ZodType) => ({ type: 'application/json', schema }) as const
export const form = (schema: z.ZodType) => ({ type: 'application/x-www-form-urlencoded', schema }) as const
export const multipart = (schema: z.ZodType) => ({ type: 'multipart/form-data', schema }) as const

/** An error whose status the specification gives. */
export const shown = (status: number, when: string, schema: z.ZodType = errorSchema): ErrorRow => ({ status, when, schema, isShown: true })

/** An error whose status the specification does not give. @param status the emulator's choice. */
export const chosen = (status: number, when: string, schema: z.ZodType = errorSchema): ErrorRow => ({
  status,
  when,
  schema,
  isShown: false,
})

export const notFound = shown(404, 'Missing, or of another brokerage')
export const noProducer = shown(422, 'Machine credential with missing or unknown `producer_email`')
export const invalid = shown(422, 'Validation failure', validationErrorSchema)

/** The errors that each endpoint with a token has. */
export const unauthenticated = chosen(401, 'No token, or one that is not valid')
export const outOfScope = chosen(403, 'The token does not grant the scope')
