import { z } from 'zod'
import { editDistance, nearest } from '../../base/near-names.ts'
import { Secret, secretsAfterHost } from '../../base/secret.ts'
import { destinationUrl } from './destination-values.ts'
import { shownKey } from './reading.ts'
import { markSecret } from './secrets.ts'
import { duration, type Ms, ok, type Parsed } from './values.ts'

// Each error message continues a sentence that starts with the setting's name. Messages never contain the value, which
// may be a secret.

/**
 * Schema of a single value. In the environment and in the file, the value is text. A default may also be a number
 * or a boolean.
 */
export function value<T>(parse: (text: string) => Parsed<T>, missing = 'is missing; set it') {
  const single = z.union([z.string(), z.number(), z.boolean()], {
    error: (issue) => (issue.input === undefined ? missing : 'must be a single value'),
  })
  return single.transform((given, context) => addProblems(parse(String(given).trim()), context))
}

export function time(min: string, max: string) {
  return elapsed(duration(min, max))
}

export function elapsed<T extends Ms | null>(parse: (text: string) => Parsed<T>) {
  return value(parse).meta({ unit: 'ms' })
}

/** Schema of a secret text. The settings file must contain a reference instead of the text. */
export function secret(parse: (text: string) => Parsed<string>, missing: string) {
  const text = z.string({ error: (issue) => (issue.input === undefined ? missing : 'must be text; put it in quotes') })
  return markSecret(
    text.transform((given, context) => {
      const parsed = parse(given)
      return addProblems('value' in parsed ? ok(new Secret(parsed.value)) : parsed, context)
    }),
  )
}

/** Schema of the URL of a destination or another receiver. The URL's query or path may contain secrets. */
export function targetUrl(missing?: string) {
  return markSecret(value(destinationUrl, missing), secretsAfterHost)
}

function addProblems<T>(parsed: Parsed<T>, context: z.RefinementCtx): T {
  if ('value' in parsed) return parsed.value
  for (const message of parsed.problems) context.addIssue(message)
  return z.NEVER
}

/**
 * Schema of an object that may have only the keys of `shape`. The message about unknown keys has one line for each key.
 */
export function section<S extends z.core.$ZodLooseShape>(shape: S) {
  return z.strictObject(shape, {
    error: (issue) => {
      if (issue.code !== 'unrecognized_keys') return issue.input === undefined ? 'is missing; set it' : 'must hold keys and values'
      return issue.keys.map((key) => unknownKey(key, Object.keys(shape))).join('\n')
    },
  })
}

function unknownKey(key: string, known: readonly string[]): string {
  const closest = nearest(key, known)
  const hint =
    key.length <= 40 && editDistance(key, closest) <= 1 + closest.length / 3
      ? `the nearest one is ${closest}`
      : `known are ${known.join(', ')}`
  return `has an unknown key, ${shownKey(key)}; ${hint}`
}

/** Schema of a list. @param split splits a text into items, so that one variable can contain several values. */
export function items<T extends z.ZodType>(item: T, max: number, split?: (text: string) => unknown[]) {
  const all = z
    .array(item, { error: (issue) => (issue.input === undefined ? 'is missing; set it' : 'must be a list') })
    .max(max, `must not hold more than ${max}`)
  return z.preprocess((given) => (split && typeof given === 'string' ? split(given) : given), all)
}

export function words(text: string): string[] {
  return text.split(/[\s,]+/).filter((word) => word !== '')
}

export function isNonEmpty(values: readonly unknown[]): boolean {
  return values.length > 0
}

export function checkPair<K extends string>(first: K, second: K, message: string) {
  return z.superRefine((values: { readonly [key in K]?: unknown }, context) => {
    const missing = [first, second].filter((key) => values[key] === undefined)
    if (missing.length === 1) context.addIssue({ code: 'custom', path: missing, message })
  })
}
