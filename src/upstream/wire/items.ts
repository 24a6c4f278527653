import { hash } from 'node:crypto'
import type { Row } from '../../model/entity.ts'
import { isObject, type Json } from '../../model/json.ts'
import { rawOf, said } from './fields.ts'

/**
 * An item of a list, in the mirror's columns. `id`: the service's own, of which the last counts when it repeats. `key`: what the service calls it,
 * without a promise that it is unique. `identity`: what tells items apart that have neither.
 */
export type Item = { readonly columns: Row } & (
  | { readonly id: string }
  | { readonly key: string | null; readonly identity: readonly Json[] }
)

/** The rows of a list whose items may have no id and may repeat. */
export interface KeyedRows {
  readonly rows: readonly Row[]
  /** JSON text of the unreadable items. */
  readonly unreadable: readonly string[]
  /** Whether there was a list. */
  readonly isThere: boolean
  /** Whether there was a list and all its items were readable. */
  readonly whole: boolean
}

/** An item of the service, and the columns of its row that do not stand in the item. */
export interface Given {
  readonly raw: unknown
  readonly beside?: Row
}

/**
 * Reads the items of a list into rows. Each has a key in `keyColumn`: the service's own, else the hash of its identity. Repetitions follow as
 * `#2`, `#3` … in the order of the list (trap 67). Columns that an item does not mention are left out.
 * @param given null when there is no list.
 * @param read null for an item that cannot be read, given with its `beside`. It never throws.
 */
export function keyedRows(given: readonly Given[] | null, keyColumn: string, read: (raw: unknown, beside: Row) => Item | null): KeyedRows {
  const rows = new Map<string, Row>()
  const unreadable: string[] = []
  const counts = new Map<string, number>()
  for (const { raw, beside = {} } of given ?? []) {
    const item = read(raw, beside)
    const kept = rawOf(raw)
    if (item === null || kept === null) {
      unreadable.push(kept ?? 'null')
      continue
    }
    const key = 'id' in item ? item.id : unused(rows, counts, item.key ?? identityKey(item.identity))
    rows.set(key, { ...(said(item.columns, raw) as Row), ...beside, [keyColumn]: key, raw: kept })
  }
  return { rows: [...rows.values()], unreadable, isThere: given !== null, whole: given !== null && unreadable.length === 0 }
}

/** @returns what an object has under `name`, as items; null when there is no list. */
export function itemsIn(raw: unknown, name: string): Given[] | null {
  const list = isObject(raw) ? raw[name] : null
  return Array.isArray(list) ? list.map((item: unknown) => ({ raw: item })) : null
}

/** @returns the SHA-256 of the fields as a JSON array, in lower-case hex. */
function identityKey(fields: readonly Json[]): string {
  return hash('sha256', JSON.stringify(fields), 'hex')
}

/** @returns `key`, or with the first `#2`, `#3` … that no row has. */
function unused(rows: ReadonlyMap<string, Row>, counts: Map<string, number>, key: string): string {
  if (!rows.has(key)) return key
  let count = (counts.get(key) ?? 1) + 1
  while (rows.has(`${key}#${count}`)) count += 1
  counts.set(key, count)
  return `${key}#${count}`
}
