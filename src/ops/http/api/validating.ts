import type { FastifySchemaCompiler, onRouteHookHandler } from 'fastify'
import { z } from 'zod'
import { UsageError } from '../../../base/errors.ts'
import { valuesOf } from '../../operations/from-text.ts'
import { check } from '../../operations/problems.ts'

const WHERE: Readonly<Record<string, string>> = { querystring: 'query', params: 'path' }

const nothing = z.strictObject({})

/** Creates a validator for one part of a request. For invalid data, the validator returns a UsageError. */
export const validatorCompiler: FastifySchemaCompiler<z.ZodType> = ({ schema, httpPart = '' }) => {
  const where = WHERE[httpPart] ?? httpPart
  const nameOf = (path: readonly PropertyKey[]) => [where, ...(path.length > 0 ? [path.join('.')] : [])].join(' ')
  return (data: unknown) => {
    const given = httpPart === 'querystring' ? valuesOf(schema, data as Readonly<Record<string, unknown>>) : data
    const checked = check(schema, given, nameOf, data)
    return 'value' in checked ? checked : { error: new UsageError(checked.problems) }
  }
}

/** Makes routes without query parameters reject any query parameter. */
export const refuseOtherQueries: onRouteHookHandler = (route) => {
  route.schema = { querystring: nothing, ...route.schema }
}
