import type { Json } from './json.ts'

/*
 * A double cannot hold every JSON number: 12345678901234567890 becomes 12345678901234567000, 1E400 becomes null, and -0 becomes 0. `raw`
 * must keep what the service sent, so the text of such numbers is kept next to the parsed value.
 */

/** Features of the engine that TypeScript's types lack. */
const engine = JSON as unknown as {
  parse(text: string, reviver: (key: string, value: unknown, context: { readonly source: string }) => unknown): unknown
  rawJSON(text: string): object
}

/** Matches numbers that a double may change: at least 16 digits, an exponent, or -0. A match inside a string only costs a second parse. */
const INEXACT = /[:[,]\s*(?:-0(?:\.0+)?|-?(?:[\d.]{16,}|\d+(?:\.\d+)?[eE][+-]?\d+))\s*[,\]}]/

/** Maps each object or list with inexact numbers to the same value with numbers as sent. */
const exact = new WeakMap<object, object>()

/** JSON.parse that keeps inexact numbers for `exactText`. @throws SyntaxError if `text` is not JSON. */
export function parseExact(text: string): unknown {
  const value: unknown = JSON.parse(text)
  if (INEXACT.test(text)) {
    const { value: twin, changed } = parseWithSources(text)
    if (changed) linkExact(value, twin)
  }
  return value
}

/**
 * @param value any value. Results of `parseExact`, and parts of them, keep their numbers as received.
 * @returns its JSON text; undefined for a value outside JSON. @throws RangeError for too deep nesting.
 */
export function exactText(value: unknown): string | undefined {
  return JSON.stringify(typeof value === 'object' && value !== null ? (exact.get(value) ?? value) : value)
}

/** `exactText` of an object without its member `name`. */
export function exactTextWithout(object: object, name: string): string {
  const { [name]: _, ...rest } = (exact.get(object) ?? object) as Record<string, unknown>
  return JSON.stringify(rest)
}

/** @returns the parsed value; numbers that JavaScript can't represent exactly are equal only if written identically. @throws SyntaxError if `text` is not JSON. */
export function comparableJson(text: string): Json {
  return (INEXACT.test(text) ? parseWithSources(text).value : JSON.parse(text)) as Json
}

/**
 * Parses JSON. Each number that a double would change becomes an object that JSON.stringify writes as sent. Values nested deeper than some
 * 2,000 levels keep their doubles.
 */
function parseWithSources(text: string): { readonly value: unknown; readonly changed: boolean } {
  let changed = false
  try {
    const value = engine.parse(text, (_, part, { source }) => {
      if (typeof part !== 'number' || isExact(part, source)) return part
      changed = true
      return engine.rawJSON(source)
    })
    return { value, changed }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    return { value: JSON.parse(text), changed: false }
  }
}

function linkExact(value: unknown, twin: unknown): void {
  const open = [[value, twin]]
  for (let pair = open.pop(); pair !== undefined; pair = open.pop()) {
    const [part, same] = pair
    if (!isContainer(part)) continue
    exact.set(part, same as object)
    for (const [key, inner] of Object.entries(part)) if (isContainer(inner)) open.push([inner, (same as Record<string, unknown>)[key]])
  }
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function isExact(value: number, source: string): boolean {
  const text = String(value)
  return text === source || decimal(text) === decimal(source)
}

/** @returns the same text for all notations of a number: `-12.50` and `-125E-1` are both `-125e-1`. */
function decimal(text: string): string {
  const [, sign = '', integer = '', fraction = '', exponent = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(text) ?? []
  const digits = (integer + fraction).replace(/^0+/, '')
  // A regular expression would take quadratic time on many zeros.
  let end = digits.length
  while (digits[end - 1] === '0') end -= 1
  if (end === 0) return integer === '' ? text : `${sign}0`
  return `${sign}${digits.slice(0, end)}e${Number(exponent) + digits.length - end - fraction.length}`
}
