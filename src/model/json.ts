import { comparableText, isSameText } from '../base/sealed.ts'

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/** @returns true if `value` is an object and not a list. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * @returns text that both databases can store. U+0000, which Postgres rejects, and lone surrogates become
 * U+FFFD (trap 72).
 */
export function storableText(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern must match U+0000.
  return (text.isWellFormed() ? text : text.toWellFormed()).replace(/\u0000/g, '\uFFFD')
}

/** Matches an escape in JSON text. The first group matches escapes that can't be stored: a lone surrogate or U+0000. */
const ESCAPE = /\\(?:ud[89ab]..\\ud[c-f]..|(ud[89a-f]..|u0000)|.)/gi

/**
 * Like `storableText`, for JSON text. Also replaces escapes of U+0000 and lone surrogates. Otherwise Postgres couldn't
 * read fields of the JSON (`raw -> 'forms'`).
 */
export function storableJsonText(text: string): string {
  return storableText(text).replace(ESCAPE, (whole, unstorable?: string) => (unstorable === undefined ? whole : '\\ufffd'))
}

/** Applies `storableText` to all texts and keys of a JSON value. */
export function storableJson(value: Json): Json {
  if (typeof value === 'string') return storableText(value)
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) return value.map(storableJson)
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [storableText(key), storableJson(item)]))
}

/** @returns JSON text with sorted keys. Equal values have equal texts, even if each was encrypted separately. */
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

/** @returns true if two values are equal, with keys in any order. Two encryptions of the same value count as equal. */
export function sameJson(a: Json, b: Json): boolean {
  if (a === b) return true
  if (typeof a === 'string' && typeof b === 'string') return isSameText(a, b)
  if (a === null || b === null || typeof a !== 'object' || typeof b !== 'object') return false
  return canonicalJson(a) === canonicalJson(b)
}

/** @returns the value of JSON text; undefined if the text isn't JSON. */
export function parsedJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}
