import { comparableJson } from '../../model/exact-json.ts'
import { isObject, type Json, storableText } from '../../model/json.ts'
import { parseDate, parseTime } from '../../model/time.ts'
import { flagOf, jsonOf, numberOf } from './fields.ts'

/** Columns of records with undefined fields. The settings name the paths. Values of another kind are null. */

/**
 * @param record JSON text without tax ids.
 * @param paths of each column in order, keys joined by dots, through objects only.
 * @returns each column with paths. The first path with a value decides; null and blank text count as missing.
 */
export function recordColumns<C extends string>(
  record: string,
  columns: Readonly<Record<string, { readonly kind: string }>>,
  paths: Readonly<Record<C, readonly string[]>>,
): Record<C, Json> {
  const whole = parsed(record, comparableJson)
  // As in every column, numbers in JSON values are doubles.
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

/** A number that a double would change is an object here, so it fits no column. */
function parsed(record: string, parse: (text: string) => Json): Json {
  try {
    return parse(record)
  } catch {
    // Too deeply nested.
    return null
  }
}

/** Readers by kind. Amounts are in cents. */
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

/** Only midnight UTC means a date: at other times the date depends on the zone. */
function dateOf(value: unknown): string | null {
  const date = parseDate(value)
  if (date === null || typeof value !== 'string' || !/(?:[Zz]|[+-]00(?::?00)?)$/.test(value)) return date
  const time = parseTime(value)
  return time === null || time === `${date}T00:00:00.000000Z` ? date : null
}

/** An integer if the key ends with `cents`, else dollars with at most two decimals. */
function centsOf(value: unknown, key: string): number | null {
  if (/cents$/i.test(key)) return typeof value === 'number' && Number.isSafeInteger(value) ? value : null
  if (typeof value !== 'string' && typeof value !== 'number') return null
  const [, dollars, rest = ''] = /^(-?\d{1,15})(?:\.(\d{1,2}))?$/.exec(String(value)) ?? []
  const cents = dollars === undefined ? Number.NaN : Number(`${dollars}${rest.padEnd(2, '0')}`)
  // Plus zero, to avoid minus zero.
  return Number.isSafeInteger(cents) ? cents + 0 : null
}
