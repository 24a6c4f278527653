import { z } from 'zod'
import { Secret } from '../../base/secret.ts'
import { distance, nearest } from '../sources/names.ts'
import { tidyKey } from '../sources/reading.ts'
import { good, type Parsed } from './values.ts'

// Every message here follows the name of its setting, and is made of fixed words: never of a value.

/** One value: the environment and the file give text, a default may be a number or a boolean. */
export function value<T>(parse: (text: string) => Parsed<T>, missing = 'is missing; set it') {
  const single = z.union([z.string(), z.number(), z.boolean()], {
    error: (issue) => (issue.input === undefined ? missing : 'must be a single value'),
  })
  return single.transform((given, context) => take(parse(String(given).trim()), context))
}

/** A text that is shown to nobody. */
export function secret(parse: (text: string) => Parsed<string>, missing: string) {
  const text = z.string({ error: (issue) => (issue.input === undefined ? missing : 'must be text; put it in quotes') })
  return text.transform((given, context) => {
    const parsed = parse(given)
    return take('value' in parsed ? good(new Secret(parsed.value)) : parsed, context)
  })
}

function take<T>(parsed: Parsed<T>, context: z.RefinementCtx): T {
  if ('value' in parsed) return parsed.value
  for (const message of parsed.problems) context.addIssue(message)
  return z.NEVER
}

/** Keys and values, and no other keys than those of `shape`; a message for several unknown keys has a line for each. */
export function section<S extends z.core.$ZodLooseShape>(shape: S) {
  return z.strictObject(shape, {
    error: (issue) => {
      if (issue.code !== 'unrecognized_keys') return issue.input === undefined ? 'is missing; set it' : 'must hold keys and values'
      return issue.keys.map((key) => unknownKey(key, Object.keys(shape))).join('\n')
    },
  })
}

function unknownKey(key: string, known: readonly string[]): string {
  const near = nearest(key, known)
  const hint =
    key.length <= 40 && distance(key, near) <= 1 + near.length / 3 ? `the nearest one is ${near}` : `known are ${known.join(', ')}`
  return `has an unknown key, ${tidyKey(key)}; ${hint}`
}

/** A list; a single text is taken apart by `split`, so that one variable can hold several values. */
export function items<T extends z.ZodType>(item: T, max: number, split?: (text: string) => unknown[]) {
  const all = z
    .array(item, { error: (issue) => (issue.input === undefined ? 'is missing; set it' : 'must be a list') })
    .max(max, `must not hold more than ${max}`)
  return z.preprocess((given) => (split && typeof given === 'string' ? split(given) : given), all)
}

/** The words of a text, which spaces or commas separate. */
export function words(text: string): string[] {
  return text.split(/[\s,]+/).filter((word) => word !== '')
}

/** Whether a list holds anything. */
export function holdsSome(values: readonly unknown[]): boolean {
  return values.length > 0
}
