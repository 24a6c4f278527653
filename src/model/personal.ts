import { type TaxIdKeys, taxIdKeys } from '../base/tax-ids.ts'
import { entities } from './entities.ts'
import { columnsWhere, type Field, type ProtectionClass, type Row } from './entity.ts'
import { isObject, type Json, parsedJson } from './json.ts'
import { isName, isValueOfNamed } from './protection/json-text.ts'

/** Classes of columns that are only sent to destinations that ask for them. */
const WITHHELD: readonly ProtectionClass[] = ['personal', 'free', 'document']

/** Columns of the classes `personal`, `free` and `document` as `<table>.<column>`: only sent to destinations that ask for them. */
export const personalColumns: readonly string[] = qualified((field) => field.kind !== 'raw' && WITHHELD.includes(field.class))

/** Columns that are never sent. */
const taxIdColumns: ReadonlySet<string> = new Set(qualified((field) => field.class === 'tax id'))

/** Text columns that may hold JSON. */
const jsonTextColumns: ReadonlySet<string> = new Set(qualified(({ mayHoldJson }) => mayHoldJson === true))

/** JSON columns by table. */
const jsonColumns: ReadonlyMap<string, readonly string[]> = new Map(
  entities.map((entity) => [entity.table, columnsWhere(entity, ({ kind }) => kind === 'json')]),
)

function qualified(is: (field: Field) => boolean): string[] {
  return entities.flatMap((entity) => columnsWhere(entity, is).map((column) => `${entity.table}.${column}`))
}

/**
 * @param allowed personal columns that may be sent, as `<table>.<column>`.
 * @param taxIdFields further keys whose values are tax ids, beside the known ones.
 * @returns a function that removes from a row (or some columns) of `entity` the other personal columns and every key with a FEIN or social
 * security number, at any depth (invariant 12). It does not change the row, and returns the same one when nothing is removed.
 */
export function personalDataFilter(
  allowed: readonly string[],
  taxIdFields: readonly string[] = [],
): (entity: string, row: Row | null) => Row | null {
  const taxIds = taxIdKeys(taxIdFields)
  const hidden = new Set(personalColumns.filter((column) => !allowed.includes(column)))
  return (entity, row) => {
    if (row === null) return null
    const kept: Row = {}
    let isSame = true
    const isOfTaxId = namesTaxId(row, taxIds)
    for (const [column, value] of Object.entries(row)) {
      const filtered = isOfTaxId && isValueOfNamed(column) ? undefined : filterColumn(entity, column, value, hidden, taxIds)
      if (filtered !== undefined) kept[column] = filtered
      if (filtered !== value) isSame = false
    }
    return isSame ? row : kept
  }
}

/** Whether an object is a fact or an answer whose value is a tax id. */
function namesTaxId(value: object, taxIds: TaxIdKeys): boolean {
  return Object.entries(value).some(([key, name]) => isName(key) && typeof name === 'string' && taxIds.has(name))
}

/** @returns undefined for a column that is removed. */
function filterColumn(entity: string, column: string, value: Json, hidden: ReadonlySet<string>, taxIds: TaxIdKeys): Json | undefined {
  const name = `${entity}.${column}`
  if (taxIds.has(column) || hidden.has(name) || taxIdColumns.has(name)) return undefined
  if (jsonTextColumns.has(name)) return textWithoutTaxIds(value, taxIds)
  const ofTable = jsonColumns.get(entity)
  // In an unknown table every column may be JSON.
  return ofTable === undefined || ofTable.includes(column) ? withoutTaxIds(value, taxIds) : value
}

/** @returns the same value when nothing is removed. */
function withoutTaxIds(value: Json, taxIds: TaxIdKeys): Json {
  if (Array.isArray(value)) {
    const kept = value.map((item: Json) => withoutTaxIds(item, taxIds))
    return kept.every((item, position) => item === value[position]) ? value : kept
  }
  if (!isObject(value)) return value
  const all = Object.entries(value as { readonly [key: string]: Json })
  const isOfTaxId = namesTaxId(value, taxIds)
  const isKept = (key: string) => !taxIds.has(key) && !(isOfTaxId && isValueOfNamed(key))
  const kept = all.filter(([key]) => isKept(key)).map(([key, item]): [string, Json] => [key, withoutTaxIds(item, taxIds)])
  return kept.length === all.length && kept.every(([, item], position) => item === all[position]?.[1]) ? value : Object.fromEntries(kept)
}

function textWithoutTaxIds(value: Json, taxIds: TaxIdKeys): Json {
  if (typeof value !== 'string' || !/^[[{]/.test(value)) return value
  const json = parsedJson(value)
  if (json === undefined) return value
  try {
    const kept = withoutTaxIds(json, taxIds)
    // Unchanged text keeps its numbers and spaces. A repeated or escaped key may hide a tax id that was not parsed: then it is written anew.
    const mayHideKey = taxIds.inJson.test(value) || value.includes('\\u')
    return kept === json && !mayHideKey ? value : JSON.stringify(kept)
  } catch {
    // Nested deeper than the stack: what cannot be searched is not sent.
    return null
  }
}
