import type { Json } from './json.ts'

/*
 * A JavaScript number can't hold every JSON number: 12345678901234567890 becomes 12345678901234567000, 1E400 becomes
 * Infinity, and -0 loses its sign in JSON. `raw` must keep numbers as the service sent them. So the text of such
 * numbers is kept together with the parsed value.
 */

/** Features of the JavaScript engine that TypeScript's types don't declare. */
const engine = JSON as unknown as {
  parse(text: string, reviver: (key: string, value: unknown, context: { readonly source: string }) => unknown): unknown
  rawJSON(text: string): object
}

/**
 * Matches numbers that parsing may change: at least 16 digits, an exponent, or -0. A match inside a string is harmless;
 * the text is only parsed twice.
 */
const INEXACT = /[:[,]\s*(?:-0(?:\.0+)?|-?(?:[\d.]{16,}|\d+(?:\.\d+)?[eE][+-]?\d+))\s*[,\]}]/

/** Maps a parsed object or list with inexact numbers to a copy with the numbers as sent. */
const exact = new WeakMap<object, object>()

/**
 * Like JSON.parse, but `exactText` can later write all numbers as received.
 * @throws SyntaxError if `text` isn't JSON.
 */
export function parseExact(text: string): unknown {
  const value: unknown = JSON.parse(text)
  if (INEXACT.test(text)) {
    const { value: twin, changed } = parseWithSources(text)
    if (changed) linkExact(value, twin)
  }
  return value
}

/**
 * Like JSON.stringify, but keeps numbers as received in results of `parseExact`, and in parts of such results.
 * @returns undefined if JSON can't represent `value`.
 * @throws RangeError if the nesting is too deep.
 */
export function exactText(value: unknown): string | undefined {
  return JSON.stringify(typeof value === 'object' && value !== null ? (exact.get(value) ?? value) : value)
}

/** `exactText` of an object without its field `name`. */
export function exactTextWithout(object: object, name: string): string {
  const { [name]: _, ...rest } = (exact.get(object) ?? object) as Record<string, unknown>
  return JSON.stringify(rest)
}

/**
 * Parses JSON so that two values can be compared. Numbers that JavaScript can't represent exactly are equal only if
 * they are written identically.
 * @throws SyntaxError if `text` isn't JSON.
 */
export function comparableJson(text: string): Json {
  return (INEXACT.test(text) ? parseWithSources(text).value : JSON.parse(text)) as Json
}

/**
 * Parses JSON. Each number that parsing would change becomes an object, which JSON.stringify writes as received.
 * If the nesting is too deep (about 2,000 levels), all numbers are parsed as usual.
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

/** @returns the same text for every notation of a number. `-12.50` and `-125E-1` both become `-125e-1`. */
function decimal(text: string): string {
  const [, sign = '', integer = '', fraction = '', exponent = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(text) ?? []
  const digits = (integer + fraction).replace(/^0+/, '')
  // A loop, because a regular expression would take quadratic time on many zeros.
  let end = digits.length
  while (digits[end - 1] === '0') end -= 1
  if (end === 0) return integer === '' ? text : `${sign}0`
  return `${sign}${digits.slice(0, end)}e${Number(exponent) + digits.length - end - fraction.length}`
}
