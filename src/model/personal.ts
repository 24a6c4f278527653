import { type TaxIdKeys, taxIdKeys } from '../base/tax-ids.ts'
import { entities } from './entities.ts'
import { columnsWhere, type Field, type ProtectionClass, type Row } from './entity.ts'
import { isObject, type Json } from './json.ts'

/** Classes of columns that a destination has to ask for. */
const WITHHELD: readonly ProtectionClass[] = ['personal', 'free', 'document']

/** `<table>.<column>` of what no push holds unless its destination asks for it: the classes `personal`, `free` and `document`. */
export const personalColumns: readonly string[] = qualified((field) => field.kind !== 'raw' && WITHHELD.includes(field.class))

/** What no push ever holds. */
const taxIdColumns: ReadonlySet<string> = new Set(qualified((field) => field.class === 'tax id'))

/** Columns of text that hold a JSON text where the service says more than words. */
const jsonTexts: ReadonlySet<string> = new Set(qualified(({ mayHoldJson }) => mayHoldJson === true))

/** Columns that hold JSON, by table: only there can a key stand below a column. */
const jsonColumns: ReadonlyMap<string, readonly string[]> = new Map(
  entities.map((entity) => [entity.table, columnsWhere(entity, ({ kind }) => kind === 'json')]),
)

function qualified(is: (field: Field) => boolean): string[] {
  return entities.flatMap((entity) => columnsWhere(entity, is).map((column) => `${entity.table}.${column}`))
}

/**
 * @param allowed `<table>.<column>` of personal columns that may go out.
 * @param taxIdFields keys under which a tax id stands, beside those that are known.
 * @returns a function that makes of a row (or some columns) of `entity` what may go out: without the other personal columns, and without
 * any key that holds an FEIN or a social security number, at any depth (invariant 12). It leaves the row as it is, and gives back the same
 * one when all of it may go out.
 */
export function leavingOutPersonal(
  allowed: readonly string[],
  taxIdFields: readonly string[] = [],
): (entity: string, row: Row | null) => Row | null {
  const taxIds = taxIdKeys(taxIdFields)
  const hidden = new Set(personalColumns.filter((column) => !allowed.includes(column)))
  // Rows by the thousand have the same few columns: what is done with each is found out once.
  const treatments = new Map<string, Map<string, Treatment>>()
  return (entity, row) => {
    if (row === null) return null
    let known = treatments.get(entity)
    if (known === undefined) {
      known = new Map()
      treatments.set(entity, known)
    }
    let kept: Row | null = null
    for (const column of Object.keys(row)) {
      let treatment = known.get(column)
      if (treatment === undefined) {
        treatment = taxIds.has(column) ? 'leave out' : treatmentOf(entity, column, hidden)
        known.set(column, treatment)
      }
      const value = row[column] as Json
      const told = treatment === 'keep' ? value : treated(treatment, value, taxIds)
      if (kept === null && told === value) continue
      kept ??= columnsBefore(column, row)
      if (told !== undefined) kept[column] = told
    }
    return kept ?? row
  }
}

/** @returns undefined for what is left out. */
function treated(treatment: Treatment, value: Json, taxIds: TaxIdKeys): Json | undefined {
  if (treatment === 'leave out') return undefined
  return treatment === 'look into' ? withoutTaxIds(value, taxIds) : textWithoutTaxIds(value, taxIds)
}

function columnsBefore(column: string, row: Row): Row {
  const kept: Row = {}
  for (const before of Object.keys(row)) {
    if (before === column) break
    kept[before] = row[before] as Json
  }
  return kept
}

type Treatment = 'leave out' | 'look into' | 'look into text' | 'keep'

function treatmentOf(entity: string, column: string, hidden: ReadonlySet<string>): Treatment {
  if (hidden.has(`${entity}.${column}`) || taxIdColumns.has(`${entity}.${column}`)) return 'leave out'
  if (jsonTexts.has(`${entity}.${column}`)) return 'look into text'
  const nested = jsonColumns.get(entity)
  // Of a table that is not known here, every column may be JSON.
  return nested === undefined || nested.includes(column) ? 'look into' : 'keep'
}

/** @returns the value itself when nothing of it is left out. */
function withoutTaxIds(value: Json, taxIds: TaxIdKeys): Json {
  if (Array.isArray(value)) {
    const kept = value.map((item: Json) => withoutTaxIds(item, taxIds))
    return kept.every((item, position) => item === value[position]) ? value : kept
  }
  if (!isObject(value)) return value
  const all = Object.entries(value as { readonly [key: string]: Json })
  const kept = all.filter(([key]) => !taxIds.has(key)).map(([key, item]): [string, Json] => [key, withoutTaxIds(item, taxIds)])
  return kept.length === all.length && kept.every(([, item], position) => item === all[position]?.[1]) ? value : Object.fromEntries(kept)
}

function textWithoutTaxIds(value: Json, taxIds: TaxIdKeys): Json {
  if (typeof value !== 'string' || !/^[[{]/.test(value)) return value
  const json = parsed(value)
  if (json === undefined) return value
  try {
    const kept = withoutTaxIds(json, taxIds)
    // Where nothing is left out, numbers and spaces stay as they are. Of a key that stands twice only the last was looked into.
    const hasMore = taxIds.inJson.test(value) || value.includes('\\u')
    return kept === json && !hasMore ? value : JSON.stringify(kept)
  } catch {
    // Nested deeper than the stack: what cannot be looked into does not go out.
    return null
  }
}

/** @returns undefined for words that only begin as JSON does. */
function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}
