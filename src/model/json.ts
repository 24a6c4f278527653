/** Any JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/** @returns whether `value` is an object that is no list. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Text as both databases can hold it: U+0000 (which Postgres refuses) and lone surrogates become U+FFFD (trap 72).
 * What was really sent stays in `raw` and in the inbox.
 */
export function storableText(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: U+0000 is what this is about.
  return (text.isWellFormed() ? text : text.toWellFormed()).replace(/\u0000/g, '\uFFFD')
}

/** `storableText` for every text, key included, in a JSON value. */
export function storableJson(value: Json): Json {
  if (typeof value === 'string') return storableText(value)
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) return value.map(storableJson)
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [storableText(key), storableJson(item)]))
}

/** @returns JSON text in which keys are sorted: two values are equal when their texts are. */
export function canonicalJson(value: Json): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  const object = value as { readonly [key: string]: Json }
  const parts = Object.keys(object)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(object[key] ?? null)}`)
  return `{${parts.join(',')}}`
}

/** @returns whether the two say the same, whatever the order of their keys. */
export function sameJson(a: Json, b: Json): boolean {
  if (a === b) return true
  if (a === null || b === null || typeof a !== 'object' || typeof b !== 'object') return false
  return canonicalJson(a) === canonicalJson(b)
}
