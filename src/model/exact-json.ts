import type { Json } from './json.ts'

/*
 * A double cannot hold every number of JSON: 12345678901234567890 becomes 12345678901234567000, 1E400 becomes null, and -0 becomes 0.
 * `raw` must keep what the service sent, so the text of such numbers is kept beside the parsed value.
 */

/** Functions of JSON in the engine that TypeScript's types do not know yet. */
const engine = JSON as unknown as {
  parse(text: string, revive: (key: string, value: unknown, context: { readonly source?: string }) => unknown): unknown
  rawJSON(text: string): object
}

/**
 * Matches numbers that a double may change: at least 16 digits, an exponent, or -0. A match inside a string is harmless: the text is then
 * parsed twice.
 */
const INEXACT = /[:[,]\s*(?:-0(?:\.0+)?|-?(?:[\d.]{16,}|\d+(?:\.\d+)?[eE][+-]?\d+))\s*[,\]}]/

/** By object or list in which a double changed a number: the same value with its numbers as sent. */
const exact = new WeakMap<object, object>()

/**
 * As JSON.parse, but keeps for `exactText` the numbers that the value cannot hold.
 * @throws SyntaxError when `text` is not JSON.
 */
export function parseExact(text: string): unknown {
  const value: unknown = JSON.parse(text)
  if (INEXACT.test(text)) keepExact(value, text)
  return value
}

/**
 * @param value any value; a result of `parseExact`, or a part of one, has its numbers as received.
 * @returns its JSON text; undefined for a value that JSON does not have.
 * @throws RangeError when it nests deeper than the stack.
 */
export function exactText(value: unknown): string | undefined {
  return JSON.stringify(typeof value === 'object' && value !== null ? (exact.get(value) ?? value) : value)
}

/**
 * @returns the parsed value, in which numbers are equal only when their texts are.
 * @throws SyntaxError when `text` is not JSON, RangeError when it nests deeper than the stack.
 */
export function comparableJson(text: string): Json {
  return (INEXACT.test(text) ? parseWithSources(text).value : JSON.parse(text)) as Json
}

function keepExact(value: unknown, text: string): void {
  try {
    const result = parseWithSources(text)
    if (result.changed) linkExact(value, result.value)
  } catch {
    // Nested deeper than the stack: its numbers stay doubles.
  }
}

/** Parses JSON; each number that a double would change becomes an object that JSON.stringify writes as sent. */
function parseWithSources(text: string): { readonly value: unknown; readonly changed: boolean } {
  let changed = false
  const value = engine.parse(text, (_, part, { source }) => {
    if (typeof part !== 'number' || source === undefined || isExact(part, source)) return part
    changed = true
    return engine.rawJSON(source)
  })
  return { value, changed }
}

function linkExact(value: unknown, twin: unknown): void {
  if (typeof value !== 'object' || value === null) return
  exact.set(value, twin as object)
  for (const [key, part] of Object.entries(value)) linkExact(part, (twin as Record<string, unknown>)[key])
}

function isExact(value: number, source: string): boolean {
  const text = String(value)
  return text === source || decimal(text) === decimal(source)
}

/** @returns the same text for all notations of a number: `-12.50` and `-125E-1` are both `-125e-1`. */
function decimal(text: string): string {
  const [, sign = '', integer = '', fraction = '', exponent = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(text) ?? []
  const digits = (integer + fraction).replace(/^0+/, '')
  // Not a regular expression: it would take quadratic time on many zeros.
  let end = digits.length
  while (digits[end - 1] === '0') end -= 1
  if (end === 0) return integer === '' ? text : `${sign}0`
  return `${sign}${digits.slice(0, end)}e${Number(exponent) + digits.length - end - fraction.length}`
}
