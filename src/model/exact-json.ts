import type { Json } from './json.ts'

/*
 * A double cannot hold every number that JSON can say: 12345678901234567890 becomes 12345678901234567000, 1E400 becomes null, and -0
 * becomes 0. What is kept of the service's objects says what they said, so such numbers are kept as text beside the usual value.
 */

/** What the engine has of JSON and its types do not know yet. */
const engine = JSON as unknown as {
  parse(text: string, revive: (key: string, value: unknown, context: { readonly source?: string }) => unknown): unknown
  rawJSON(text: string): object
}

/**
 * Finds whatever may be a number that a double changes: 16 digits or more, an exponent, or -0; up to 15 digits come back as they went.
 * Where it also matches within a text, the text is parsed twice for nothing.
 */
const DOUBTFUL = /[:[,]\s*(?:-0(?:\.0+)?|-?(?:[\d.]{16,}|\d+(?:\.\d+)?[eE][+-]?\d+))\s*[,\]}]/

/** For objects and lists of which a double changed some number: the same, with those numbers as they were sent. */
const exact = new WeakMap<object, object>()

/**
 * Parses JSON like JSON.parse, with the same value, and keeps for `exactText` what the value cannot hold.
 * @throws SyntaxError when `text` is no JSON.
 */
export function parseExact(text: string): unknown {
  const value: unknown = JSON.parse(text)
  if (DOUBTFUL.test(text)) keepExact(value, text)
  return value
}

/**
 * @param value a value, or a part of one, that came of `parseExact` or was made otherwise.
 * @returns its JSON text, with the numbers that were received; undefined for what JSON cannot say.
 * @throws RangeError when it nests deeper than the stack.
 */
export function exactText(value: unknown): string | undefined {
  return JSON.stringify(typeof value === 'object' && value !== null ? (exact.get(value) ?? value) : value)
}

/**
 * @returns the value of JSON text for a comparison: numbers are equal in it only when they are equal as written.
 * @throws SyntaxError when `text` is no JSON, RangeError when it nests deeper than the stack.
 */
export function comparableJson(text: string): Json {
  return (DOUBTFUL.test(text) ? parseWhole(text).value : JSON.parse(text)) as Json
}

function keepExact(value: unknown, text: string): void {
  try {
    const whole = parseWhole(text)
    if (whole.changed) pair(value, whole.value)
  } catch {
    // Nested deeper than the stack: it stays as the double has it.
  }
}

/** Parses with each number that a double changes as an object that is written as that number. */
function parseWhole(text: string): { readonly value: unknown; readonly changed: boolean } {
  let changed = false
  const value = engine.parse(text, (_, part, { source }) => {
    if (typeof part !== 'number' || source === undefined || isHeld(part, source)) return part
    changed = true
    return engine.rawJSON(source)
  })
  return { value, changed }
}

function pair(value: unknown, twin: unknown): void {
  if (typeof value !== 'object' || value === null) return
  exact.set(value, twin as object)
  for (const [key, part] of Object.entries(value)) pair(part, (twin as Record<string, unknown>)[key])
}

function isHeld(value: number, source: string): boolean {
  const text = String(value)
  return text === source || decimal(text) === decimal(source)
}

/** One text for all that write the same number: `-12.50` and `-125E-1` are both `-125e-1`. */
function decimal(text: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(text) ?? []
  const digits = (whole + fraction).replace(/^0+/, '')
  // Not by a regular expression: on long rows of noughts that takes the square of their length.
  let end = digits.length
  while (digits[end - 1] === '0') end -= 1
  if (end === 0) return whole === '' ? text : `${sign}0`
  return `${sign}${digits.slice(0, end)}e${Number(exponent) + digits.length - end - fraction.length}`
}
