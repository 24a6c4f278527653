import type { z } from 'zod'
import type { ConditionName } from './conditions.ts'

export interface Parameter {
  readonly name: string
  readonly required?: boolean
  readonly schema: z.ZodType
}

export interface Operation {
  readonly method: 'GET' | 'POST' | 'PUT'
  readonly path: string
  readonly operationId: string
  readonly tag: string
  readonly summary: string
  /** Required scope of the token. `any`: any scope. `none`: no token. */
  readonly scope: 'broker_mcp' | 'broker_submit' | 'any' | 'none'
  /** Role that the caller needs. Only market-access changes need one. */
  readonly role?: 'admin'
  /** Whether a portal session is required. Only product selection requires one. */
  readonly isPortalSessionOnly?: boolean
  readonly query?: readonly Parameter[]
  readonly headers?: readonly Parameter[]
  readonly body?: { readonly type: BodyType; readonly schema: z.ZodType; readonly isOptional?: boolean }
  readonly answer: { readonly type: 'application/json' | 'application/pdf' | 'text/html'; readonly schema: z.ZodType }
  /** Errors in addition to those that `conditionsOf` adds. */
  readonly errors: readonly ConditionName[]
  /** What the specification doesn't show about this operation. */
  readonly notShown?: string
}

export type Endpoint = Omit<Operation, 'tag'>

/** Without `scope`, reads need `broker_mcp`, and writes need `broker_submit`. */
type EndpointOptions = Omit<Endpoint, 'method' | 'path' | 'operationId' | 'scope'> & Partial<Pick<Endpoint, 'scope'>>

const endpoint =
  (method: Operation['method'], scope: Operation['scope']) => (path: string, operationId: string, options: EndpointOptions) => {
    return { method, path, operationId, scope, ...options } satisfies Endpoint
  }

export const get = endpoint('GET', 'broker_mcp')
export const post = endpoint('POST', 'broker_submit')
export const put = endpoint('PUT', 'broker_submit')

type BodyType = 'application/json' | 'application/x-www-form-urlencoded' | 'multipart/form-data'

export const json = (schema: z.ZodType) => ({ type: 'application/json', schema }) as const
export const form = (schema: z.ZodType) => ({ type: 'application/x-www-form-urlencoded', schema }) as const
export const multipart = (schema: z.ZodType) => ({ type: 'multipart/form-data', schema }) as const

export function conditionsOf({ method, path, scope, errors }: Operation): readonly ConditionName[] {
  return [
    ...(['malformed_request', 'head_too_large'] as const),
    ...(scope === 'none' ? [] : (['missing_token', 'missing_scope'] as const)),
    ...(path.includes('{') ? (['invalid_id'] as const) : []),
    ...(method === 'GET' ? [] : (['body_too_large'] as const)),
    ...errors,
  ]
}
