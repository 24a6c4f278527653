import { randomUUID } from 'node:crypto'
import type { Json } from './json.ts'

/*
 * A double cannot hold every number of JSON: 12345678901234567890 becomes 12345678901234567000, 1E400 becomes null, and -0 becomes 0.
 * `raw` must keep what the service sent, so the text of such numbers is kept beside the parsed value.
 */

/** A function of JSON in the engine that TypeScript's types do not know yet. */
const engine = JSON as unknown as {
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
  if (INEXACT.test(text)) {
    const { value: twin, changed } = parseWithSources(text)
    if (changed) linkExact(value, twin)
  }
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

/** As `exactText`, for an object without what stands under `name`. */
export function exactTextWithout(object: object, name: string): string {
  const { [name]: _, ...rest } = (exact.get(object) ?? object) as Record<string, unknown>
  return JSON.stringify(rest)
}

/**
 * @returns the parsed value, in which numbers are equal only when their texts are.
 * @throws SyntaxError when `text` is not JSON.
 */
export function comparableJson(text: string): Json {
  return (INEXACT.test(text) ? parseWithSources(text).value : JSON.parse(text)) as Json
}

/** A string, or a number in JSON text. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)/gs

/**
 * Parses JSON; each number that a double would change becomes an object that JSON.stringify writes as sent. Without recursion: one item that
 * nests thousands of levels deep must not cost its siblings their digits.
 */
function parseWithSources(text: string): { readonly value: unknown; readonly changed: boolean } {
  const mark = `${randomUUID()} `
  let changed = false
  const marked = text.replace(TOKEN, (token, number?: string) => {
    if (number === undefined || isExact(Number(number), number)) return token
    changed = true
    return `"${mark}${number}"`
  })
  const unmarked = (part: unknown) => (typeof part === 'string' && part.startsWith(mark) ? engine.rawJSON(part.slice(mark.length)) : part)
  const value = unmarked(JSON.parse(marked))
  const open = [value]
  for (let part = open.pop(); part !== undefined; part = open.pop()) {
    for (const [key, inner] of entriesOf(part)) {
      const plain = unmarked(inner)
      if (plain !== inner) Object.defineProperty(part, key, { value: plain, writable: true, enumerable: true, configurable: true })
      else if (isContainer(inner)) open.push(inner)
    }
  }
  return { value, changed }
}

function linkExact(value: unknown, twin: unknown): void {
  const open = [[value, twin]]
  for (let pair = open.pop(); pair !== undefined; pair = open.pop()) {
    const [part, same] = pair
    if (!isContainer(part)) continue
    exact.set(part, same as object)
    for (const [key, inner] of entriesOf(part)) if (isContainer(inner)) open.push([inner, (same as Record<string, unknown>)[key]])
  }
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function entriesOf(value: unknown): [string, unknown][] {
  return isContainer(value) ? Object.entries(value) : []
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
