import { z } from 'zod'
import { listNames } from '../../base/list-names.ts'
import { storableText } from '../../model/json.ts'

/** Maximum characters of a value that a problem quotes. */
const LONGEST = 80
const UNSTORABLE = 'is not storable text: it contains U+0000 or half of a surrogate pair'

type Issue = { readonly path: readonly PropertyKey[]; readonly message: string }

/** A valid value, or the problems of an invalid value, one sentence each. */
export type Checked = { readonly value: unknown } | { readonly problems: readonly string[] }

/**
 * Validates an input.
 * @param nameOf returns the name that the user knows for a field, such as `--limit`. An empty path is the whole input.
 * @param texts the input as the user gave it, before conversion. Problems quote these values.
 */
export function check(schema: z.ZodType, given: unknown, nameOf: (path: readonly PropertyKey[]) => string, texts = given): Checked {
  const result = schema.safeParse(given, { error: messageOf })
  const issues = result.success ? [...unstorable(result.data, [])] : result.error.issues
  if (result.success && issues.length === 0) return { value: result.data }
  return { problems: [...new Set(issues.flatMap((issue) => sentences(issue, texts, nameOf)))] }
}

/** Finds texts and names that some databases can't store. @param value a valid value, so its depth is limited. */
function* unstorable(value: unknown, path: readonly string[]): Generator<Issue> {
  if (typeof value === 'string' && storableText(value) !== value) yield { path, message: UNSTORABLE }
  if (typeof value !== 'object' || value === null) return
  for (const [key, item] of Object.entries(value)) {
    if (storableText(key) !== key) yield { path, message: `the name ${shownOf(key)} ${UNSTORABLE}` }
    yield* unstorable(item, [...path, key])
  }
}

/** @returns the problems of an issue as texts, such as `--limit: "0" is …`. */
function sentences({ path, message }: Issue, given: unknown, nameOf: (path: readonly PropertyKey[]) => string): string[] {
  const value = path.reduce<unknown>((part, key) => (part as Readonly<Record<PropertyKey, unknown>> | undefined)?.[key], given)
  const shown = shownOf(value)
  return message.split('\n').map((line) => `${nameOf(path)}: ${shown !== null && line.startsWith('is ') ? `${shown} ` : ''}${line}`)
}

function shownOf(value: unknown): string | null {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, LONGEST))
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : null
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'is not text',
  number: 'is not a number',
  int: 'is not a whole number',
  boolean: 'is neither true nor false',
  array: 'is not a list',
  record: 'is not a list of names and values',
}

/** @returns a text such as `must have at least 1 entry` for a list, or `must be at most 50` for a number. */
function limitText(origin: string, which: 'at least' | 'at most', limit: number | bigint): string {
  return origin === 'array' ? `must have ${which} ${limit} ${limit === 1 ? 'entry' : 'entries'}` : `must be ${which} ${limit}`
}

/** @returns the text for a schema without its own message. Several problems are on separate lines. */
function messageOf(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined || issue.input === null ? 'is missing' : (TYPES[issue.expected] ?? 'is not an object')
    case 'invalid_value':
      return `${issue.input === undefined ? 'is missing; give one of' : 'is not one of'} ${issue.values.join(', ')}`
    case 'unrecognized_keys': {
      const known = issue.inst instanceof z.ZodObject ? Object.keys(issue.inst.shape) : []
      return issue.keys.map((key) => `unknown field ${JSON.stringify(key.slice(0, LONGEST))}; ${listNames(known)}`).join('\n')
    }
    case 'too_small':
      return issue.origin === 'string' ? 'is empty' : limitText(issue.origin, 'at least', issue.minimum)
    case 'too_big':
      return issue.origin === 'string' ? `is longer than ${issue.maximum} characters` : limitText(issue.origin, 'at most', issue.maximum)
    case 'invalid_format':
      return issue.format === 'uuid' ? 'is not an id (a uuid)' : 'has the wrong format'
    default:
      return 'is invalid'
  }
}
