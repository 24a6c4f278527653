import { z } from 'zod'
import { listNames } from '../../base/list-names.ts'
import { storableText } from '../../model/json.ts'

/** Characters of a given value that a problem repeats. */
const LONGEST = 80
const UNSTORABLE = 'is no text that can be stored: it holds U+0000, or half of a pair that makes one character'

/** A problem, and where in the input it is. */
type Issue = { readonly path: readonly PropertyKey[]; readonly message: string }

/** A value that fits, or what is wrong with it, a sentence each. */
export type Checked = { readonly value: unknown } | { readonly problems: readonly string[] }

/**
 * Holds what was given against its schema.
 * @param nameOf how the interface calls the place of a problem; a path without a part is the whole.
 * @param texts what was given before it became values, for the problems to repeat.
 */
export function check(schema: z.ZodType, given: unknown, nameOf: (path: readonly PropertyKey[]) => string, texts = given): Checked {
  const result = schema.safeParse(given, { error: messageOf })
  const issues = result.success ? [...unstorable(result.data, [])] : result.error.issues
  if (result.success && issues.length === 0) return { value: result.data }
  return { problems: [...new Set(issues.flatMap((issue) => sentences(issue, texts, nameOf)))] }
}

/** Texts that not every database can store, keys included. @param value validated by a schema, so it is not deep. */
function* unstorable(value: unknown, path: readonly string[]): Generator<Issue> {
  if (typeof value === 'string' && storableText(value) !== value) yield { path, message: UNSTORABLE }
  if (typeof value !== 'object' || value === null) return
  for (const [key, item] of Object.entries(value)) {
    if (storableText(key) !== key) yield { path, message: `the name ${shownOf(key)} ${UNSTORABLE}` }
    yield* unstorable(item, [...path, key])
  }
}

/** `query limit: "0" is …`, `--limit: "0" is …`. */
function sentences({ path, message }: Issue, given: unknown, nameOf: (path: readonly PropertyKey[]) => string): string[] {
  const value = path.reduce<unknown>((part, key) => (part as Readonly<Record<PropertyKey, unknown>> | undefined)?.[key], given)
  const shown = shownOf(value)
  return message.split('\n').map((line) => `${nameOf(path)}: ${shown !== null && line.startsWith('is ') ? `${shown} ` : ''}${line}`)
}

/** A scalar as it was given; null for anything else. */
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
  record: 'is no list of names and their values',
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
