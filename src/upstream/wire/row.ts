import type { ColumnKind, Entity, Field, Row } from '../../model/entity.ts'
import { isObject, type Json } from '../../model/json.ts'
import { parseDate, parseTime } from '../../model/time.ts'
import { otherNames } from '../../model/unshown-names.ts'
import { parseUuid } from '../../model/uuid.ts'
import { parseJson } from '../http/answer.ts'
import { countOf, flagOf, idOf, jsonOf, keyOf, listOf, numberOf, rawOf, textOf, textOrJsonOf } from './fields.ts'

/**
 * Reads an object of the service into the columns that the table's descriptor defines. Unknown fields and values stay
 * in the column `raw` (traps 13, 57, 58). Never throws.
 * @param read selects the columns that this read supplies. Key columns are always read.
 * @returns the row; null if `raw` isn't an object, or a required field is missing or unreadable. If another field is
 * missing, its column is null if the specification allows null or the descriptor sets `absentIsNull`. Otherwise the row
 * doesn't contain the column.
 */
export function rowOf(entity: Entity, raw: unknown, read: Entity['read'] = entity.read): Row | null {
  if (!isObject(raw)) return null
  const row: Row = {}
  for (const [column, field] of Object.entries(entity.fields)) {
    if ((field.read ?? entity.read) !== read && !entity.key.includes(column)) continue
    const given = field.kind === 'raw' ? raw : field.path === undefined ? undefined : shownAt(raw, field.path, `${entity.table}.${column}`)
    if (given === undefined && !field.required && !((entity.absentIsNull || field.nullable) && field.path !== undefined)) continue
    const value = readers[field.kind](given, field)
    if (value === null && (field.required || field.kind === 'raw')) return null
    row[column] = value
  }
  return row
}

function shownAt(raw: Readonly<Record<string, unknown>>, path: string, column: string): unknown {
  const given = valueAt(raw, path)
  const other = given === undefined ? otherNames.get(column)?.find((name) => Object.hasOwn(raw, name)) : undefined
  return other === undefined ? given : raw[other]
}

function valueAt(raw: Readonly<Record<string, unknown>>, path: string): unknown {
  if (!path.includes('.')) return raw[path]
  return path.split('.').reduce<unknown>((at, key) => (isObject(at) ? at[key] : undefined), raw)
}

/** Readers by kind of column. A value of another kind becomes null. */
const readers: Readonly<Record<ColumnKind, (value: unknown, field: Field) => Json>> = {
  text: (value, { as, mayHoldJson }) => {
    if (as === 'id') return idOf(value)
    if (as === 'uuid') return parseUuid(value)
    if (as === 'key') return keyOf(value)
    return mayHoldJson ? textOrJsonOf(value) : textOf(value)
  },
  json: (value, { as }) => (as === 'any' ? jsonOf(value ?? null) : as === 'text' ? jsonInText(value) : listOf(value)),
  int: countOf,
  real: numberOf,
  bool: flagOf,
  time: parseTime,
  date: parseDate,
  raw: rawOf,
}

function jsonInText(value: unknown): Json {
  const parsed = typeof value === 'string' ? parseJson(value) : undefined
  return jsonOf(parsed === undefined ? value : parsed)
}
