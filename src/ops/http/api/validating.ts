import type { FastifySchemaCompiler, onRouteHookHandler } from 'fastify'
import { z } from 'zod'
import { UsageError } from '../../../base/errors.ts'
import { listNames } from '../../../base/list-names.ts'
import { storableText } from '../../../model/json.ts'

const WHERE: Readonly<Record<string, string>> = { querystring: 'query', params: 'path' }
/** Characters of a sent value that a problem repeats. */
const LONGEST = 80

/** A problem, and where in the request it is. */
type Issue = { readonly path: readonly PropertyKey[]; readonly message: string }

const nothing = z.strictObject({})

/** Creates the validator of a part of a request. It fails with a UsageError, a sentence for each problem. */
export const validatorCompiler: FastifySchemaCompiler<z.ZodType> = ({ schema, httpPart = '' }) => {
  const where = WHERE[httpPart] ?? httpPart
  return (data: unknown) => {
    const result = schema.safeParse(data, { error: messageOf })
    const issues = result.success ? [...unstorable(result.data, [])] : result.error.issues
    if (result.success && issues.length === 0) return { value: result.data }
    return { error: new UsageError([...new Set(issues.flatMap((issue) => sentences(where, issue, data)))]) }
  }
}

const UNSTORABLE = 'is no text that can be stored: it holds U+0000, or half of a pair that makes one character'

/** Texts that not every database can store, keys included. @param value validated by a schema, so it is not deep. */
function* unstorable(value: unknown, path: readonly string[]): Generator<Issue> {
  if (typeof value === 'string' && storableText(value) !== value) yield { path, message: UNSTORABLE }
  if (typeof value !== 'object' || value === null) return
  for (const [key, item] of Object.entries(value)) {
    if (storableText(key) !== key) yield { path, message: `the name ${shownOf(key)} ${UNSTORABLE}` }
    yield* unstorable(item, [...path, key])
  }
}

/** A route without query parameters refuses any: they were meant to have an effect. */
export const refuseOtherQueries: onRouteHookHandler = (route) => {
  route.schema = { querystring: nothing, ...route.schema }
}

/** `query limit: "0" is …`, `body ids.3: …`. */
function sentences(where: string, { path, message }: Issue, data: unknown): string[] {
  const given = path.reduce<unknown>((value, part) => (value as Readonly<Record<PropertyKey, unknown>> | undefined)?.[part], data)
  const shown = shownOf(given)
  const at = [where, ...(path.length > 0 ? [path.join('.')] : [])].join(' ')
  return message.split('\n').map((line) => `${at}: ${shown !== null && line.startsWith('is ') ? `${shown} ` : ''}${line}`)
}

/** A scalar as it was sent; null for anything else. */
function shownOf(value: unknown): string | null {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, LONGEST))
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : null
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'is no text',
  number: 'is no number',
  int: 'is no whole number',
  boolean: 'is neither true nor false',
  array: 'is no list',
}

/** The problems of a value whose schema has no message of its own, a line each. */
function messageOf(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined || issue.input === null ? 'is missing' : (TYPES[issue.expected] ?? 'is no object')
    case 'invalid_value':
      return `is none of ${issue.values.join(', ')}`
    case 'unrecognized_keys': {
      const known = issue.inst instanceof z.ZodObject ? Object.keys(issue.inst.shape) : []
      return issue.keys.map((key) => `there is no ${JSON.stringify(key.slice(0, LONGEST))} here; ${listNames(known)}`).join('\n')
    }
    case 'too_small':
      return issue.origin === 'string' ? 'is empty' : `must hold at least ${issue.minimum}`
    case 'too_big':
      return issue.origin === 'string' ? `is longer than ${issue.maximum} characters` : `must not hold more than ${issue.maximum}`
    case 'invalid_format':
      return issue.format === 'uuid' ? 'is no id (a uuid)' : 'is not of the right form'
    default:
      return 'is not what it should be'
  }
}
