import { comparableJson } from '../../model/exact-json.ts'
import { isObject, type Json, storableText } from '../../model/json.ts'
import { parseDate, parseTime } from '../../model/time.ts'
import { flagOf, jsonOf, numberOf } from './fields.ts'

/**
 * Reads columns of records whose fields the specification doesn't define. The settings name the paths of the values.
 */

/**
 * @param record JSON text without tax ids.
 * @param paths one list per column, in order of preference. A path has keys joined by dots, and leads
 * through objects only.
 * @returns for each column in `paths`, the value at the first path that has a value other than null or blank text. Null
 * if no path has a value, or if the value doesn't fit the column's kind.
 */
export function recordColumns<C extends string>(
  record: string,
  columns: Readonly<Record<string, { readonly kind: string }>>,
  paths: Readonly<Record<C, readonly string[]>>,
): Record<C, Json> {
  const whole = parsed(record, comparableJson)
  // Numbers in a column of kind `json` are doubles, as in all tables.
  const withDoubles = parsed(record, JSON.parse)
  const read = (column: C) => {
    const kind = columns[column]?.kind ?? ''
    for (const path of paths[column]) {
      const keys = path.split('.')
      const value = keys.reduce<unknown>(
        (at, key) => (isObject(at) && Object.hasOwn(at, key) ? at[key] : null),
        kind === 'json' ? withDoubles : whole,
      )
      const given = typeof value === 'string' ? value.trim() : value
      if (given !== null && given !== '') return readers[kind]?.(given, keys.at(-1) ?? '') ?? null
    }
    return null
  }
  const names = Object.keys(paths) as C[]
  return Object.fromEntries(names.map((column) => [column, read(column)])) as Record<C, Json>
}

/**
 * Parses a record. `comparableJson` turns a number that a double can't hold exactly into an object. A number column
 * rejects an object.
 */
function parsed(record: string, parse: (text: string) => Json): Json {
  try {
    return parse(record)
  } catch {
    // The record is nested too deep.
    return null
  }
}

/** Readers by kind of column. A column of kind `int` has an amount in cents. */
const readers: Readonly<Record<string, (value: unknown, key: string) => Json>> = {
  text: textOf,
  date: dateOf,
  int: centsOf,
  real: numberOf,
  bool: flagOf,
  json: jsonOf,
}

function textOf(value: unknown): string | null {
  if (typeof value === 'string') return storableText(value)
  return typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : null
}

/**
 * @returns the date in a text; null if the text has no valid date. A UTC time counts only at midnight, because the date
 * of other times depends on the time zone.
 */
function dateOf(value: unknown): string | null {
  const date = parseDate(value)
  if (date === null || typeof value !== 'string' || !/(?:[Zz]|[+-]00(?::?00)?)$/.test(value)) return date
  const time = parseTime(value)
  return time === null || time === `${date}T00:00:00.000000Z` ? date : null
}

/**
 * @returns an amount in cents; null if the value isn't an amount. If the key ends with `cents`, the value must be an
 * integer. Otherwise, the value is in dollars with at most two decimals.
 */
function centsOf(value: unknown, key: string): number | null {
  if (/cents$/i.test(key)) return typeof value === 'number' && Number.isSafeInteger(value) ? value : null
  if (typeof value !== 'string' && typeof value !== 'number') return null
  const [, dollars, rest = ''] = /^(-?\d{1,15})(?:\.(\d{1,2}))?$/.exec(String(value)) ?? []
  const cents = dollars === undefined ? Number.NaN : Number(`${dollars}${rest.padEnd(2, '0')}`)
  // Adding 0 turns -0 into 0.
  return Number.isSafeInteger(cents) ? cents + 0 : null
}
