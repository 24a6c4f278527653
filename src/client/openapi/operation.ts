import type { z } from 'zod'
import type { ConditionName } from './conditions.ts'

/** A query parameter or a header. */
export interface Parameter {
  readonly name: string
  readonly required?: boolean
  readonly schema: z.ZodType
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
  /** Its own errors, beside those that `conditionsOf` adds. */
  readonly errors: readonly ConditionName[]
  /** What the specification does not show of it. */
  readonly notShown?: string
}

/** An endpoint without the section of the document that it stands in. */
export type Endpoint = Omit<Operation, 'tag'>

/** What is said of an endpoint. Left out, the scope is the one of all reads or all writes. */
type EndpointOptions = Omit<Endpoint, 'method' | 'path' | 'operationId' | 'scope'> & Partial<Pick<Endpoint, 'scope'>>

const endpoint =
  (method: Operation['method'], scope: Operation['scope']) => (path: string, operationId: string, options: EndpointOptions) => {
    return { method, path, operationId, scope, ...options } satisfies Endpoint
  }

export const get = endpoint('GET', 'broker_mcp')
export const post = endpoint('POST', 'broker_submit')
export const put = endpoint('PUT', 'broker_submit')

export type BodyType = 'application/json' | 'application/x-www-form-urlencoded' | 'multipart/form-data'

export const json = (schema: z.ZodType) => ({ type: 'application/json', schema }) as const
export const form = (schema: z.ZodType) => ({ type: 'application/x-www-form-urlencoded', schema }) as const
export const multipart = (schema: z.ZodType) => ({ type: 'multipart/form-data', schema }) as const

/** @returns every condition under which an operation answers with an error. */
export function conditionsOf({ method, path, scope, errors }: Operation): readonly ConditionName[] {
  return [
    ...(['malformed_request', 'head_too_large'] as const),
    ...(scope === 'none' ? [] : (['missing_token', 'missing_scope'] as const)),
    ...(path.includes('{') ? (['invalid_id'] as const) : []),
    ...(method === 'GET' ? [] : (['body_too_large'] as const)),
    ...errors,
  ]
}
