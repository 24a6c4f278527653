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
  /** Market-access changes require the admin role. */
  readonly role?: 'admin'
  /** Product selection requires a portal session. */
  readonly isPortalSessionOnly?: boolean
  readonly query?: readonly Parameter[]
  readonly headers?: readonly Parameter[]
  readonly body?: { readonly type: BodyType; readonly schema: z.ZodType; readonly isOptional?: boolean }
  readonly answer: { readonly type: 'application/json' | 'application/pdf' | 'text/html'; readonly schema: z.ZodType }
  /** Errors in addition to those of `conditionsOf`. */
  readonly errors: readonly ConditionName[]
  /** Gaps of the specification. */
  readonly notShown?: string
}

export type Endpoint = Omit<Operation, 'tag'>

/** Scope defaults to that of reads or writes. */
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
