import { comparableText, isSameText } from '../base/sealed.ts'

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/** @returns whether `value` is an object and not an array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Text that both databases can store: U+0000 (refused by Postgres) and lone surrogates become U+FFFD (trap 72). */
export function storableText(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: replacing U+0000 is the purpose.
  return (text.isWellFormed() ? text : text.toWellFormed()).replace(/\u0000/g, '\uFFFD')
}

/** An escape in JSON text: a surrogate pair, a lone surrogate, U+0000, or any other. */
const ESCAPE = /\\(?:ud[89ab]..\\ud[c-f]..|(ud[89a-f]..|u0000)|.)/gi

/** `storableText` for JSON text; otherwise Postgres can't read fields from it (`raw -> 'forms'`). */
export function storableJsonText(text: string): string {
  return storableText(text).replace(ESCAPE, (whole, unstorable?: string) => (unstorable === undefined ? whole : '\\ufffd'))
}

/** `storableText` for every text and key in a JSON value. */
export function storableJson(value: Json): Json {
  if (typeof value === 'string') return storableText(value)
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) return value.map(storableJson)
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [storableText(key), storableJson(item)]))
}

/** @returns JSON text with sorted keys: equal values, and two encryptions of one value, have equal texts. */
export function canonicalJson(value: Json): string {
  if (typeof value === 'string') return JSON.stringify(comparableText(value))
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  const object = value as { readonly [key: string]: Json }
  const parts = Object.keys(object)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(object[key] ?? null)}`)
  return `{${parts.join(',')}}`
}

/** @returns whether two values are equal in any key order. Two encryptions of one value are equal too. */
export function sameJson(a: Json, b: Json): boolean {
  if (a === b) return true
  if (typeof a === 'string' && typeof b === 'string') return isSameText(a, b)
  if (a === null || b === null || typeof a !== 'object' || typeof b !== 'object') return false
  return canonicalJson(a) === canonicalJson(b)
}

/** @returns undefined for text that is not JSON. */
export function parsedJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}
