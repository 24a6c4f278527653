import { type Around, isHarmless, rewriteJsonText, rewriteWords } from '../base/tax-id-text.ts'
import { isValueKey, namesTaxId, type TaxIdKeys, taxIdKeys } from '../base/tax-ids.ts'
import { entities } from './entities.ts'
import { columnsWhere, type Field, type ProtectionClass, type Row } from './entity.ts'
import { type Json, parsedJson } from './json.ts'

const WITHHELD: readonly ProtectionClass[] = ['personal', 'free', 'document']

/** Columns, as `<table>.<column>`, that are sent only to destinations that request them. */
export const personalColumns: readonly string[] = qualified((field) => field.kind !== 'raw' && WITHHELD.includes(field.class))

/** Columns that are never sent to a destination. */
const taxIdColumns: ReadonlySet<string> = new Set(qualified((field) => field.class === 'tax id'))

function qualified(is: (field: Field) => boolean): string[] {
  return entities.flatMap((entity) => columnsWhere(entity, is).map((column) => `${entity.table}.${column}`))
}

/**
 * @param allowed personal columns that may be sent, as `<table>.<column>`.
 * @param taxIdFields further keys of tax ids, in addition to the built-in keys.
 * @returns a function that filters a row of `entity`. The function removes the personal columns that aren't in
 * `allowed`, and every key with an FEIN or SSN at any depth. If nothing is removed, the function returns the same row;
 * otherwise a changed copy.
 */
export function personalDataFilter(
  allowed: readonly string[],
  taxIdFields: readonly string[] = [],
): (entity: string, row: Row | null) => Row | null {
  const keys = taxIdKeys(taxIdFields)
  const hidden = new Set(personalColumns.filter((column) => !allowed.includes(column)))
  return (entity, row) => {
    if (row === null) return null
    const kept: Row = {}
    let isSame = true
    const isOfTaxId = namesTaxId(row, keys)
    for (const [column, value] of Object.entries(row)) {
      const name = `${entity}.${column}`
      const isLeftOut = keys.has(column) || hidden.has(name) || taxIdColumns.has(name) || (isOfTaxId && isValueKey(column))
      const filtered = isLeftOut ? undefined : withoutTaxIds(value, keys, { key: column, isOfTaxId })
      if (filtered !== undefined) kept[column] = filtered
      if (filtered !== value) isSame = false
    }
    return isSame ? row : kept
  }
}

const REMOVED = '[tax id removed]'

/** Removes tax ids from a value. @returns the same value if it contains no tax id. */
function withoutTaxIds(value: Json, keys: TaxIdKeys, around: Around): Json {
  if (value === null || (typeof value !== 'object' && typeof value !== 'string')) return value
  const rewriting = { keys, replace: (found: string) => (isHarmless(found, keys) ? found : `"${REMOVED}"`) }
  try {
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    if (!around.isOfTaxId && !keys.mayBeIn(text)) return value
    const written = typeof value === 'string' ? rewriteWords(text, rewriting, around) : rewriteJsonText(text, rewriting, around)
    if (written === text) return value
    return typeof value === 'string' ? textWithoutMarks(written) : withoutMarks(written)
  } catch {
    // The value is nested too deeply to search, so it isn't sent.
    return null
  }
}

function withoutMarks(text: string): Json {
  return JSON.parse(text, (_, item: Json) => {
    if (item === REMOVED) return undefined
    return typeof item === 'string' && item.includes(REMOVED) ? textWithoutMarks(item) : item
  }) as Json
}

/** Removes from JSON text each value that equals `REMOVED`. Text that isn't JSON stays unchanged. */
function textWithoutMarks(text: string): string {
  return parsedJson(text) === undefined ? text : JSON.stringify(withoutMarks(text))
}
