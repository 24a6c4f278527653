import type { Row } from './entity.ts'
import { comparableJson } from './exact-json.ts'
import { canonicalJson, isObject, type Json, sameJson } from './json.ts'
import { withStableLinks } from './links.ts'
import type { Origin } from './observations.ts'
import type { Via } from './records.ts'
import { isSameMoment, isTimeText, type TimeText } from './time.ts'

/** The conflicting identity columns, or the merged row. */
export type Merge = { readonly conflict: readonly string[] } | { readonly conflict: null; readonly row: Row }

/**
 * Merges a record that was received again into the stored record.
 * - Identity: a column that differs from a stored value is a conflict, and the new record is ignored. List order and missing digits of a
 * time don't count.
 * - Fill: an empty column takes the new value. A value, even an empty list, is never emptied.
 * - Only feed records replace other columns and `raw`. A feed is read later than a delivery is sent, so the order of arrival doesn't
 * matter.
 * @param fromFeed whether the new record was read from a feed; a delivery only fills.
 */
export function mergeRecord(stored: Row, newcomer: Row, identity: readonly string[], fromFeed: boolean): Merge {
  const conflict = identity.filter(
    (column) => hasValue(stored[column]) && hasValue(newcomer[column]) && !meansSame(stored, newcomer, column),
  )
  if (conflict.length > 0) return { conflict }
  const row: Row = { ...stored }
  for (const [column, value] of Object.entries(newcomer)) {
    if (!hasValue(value)) continue
    if (!hasValue(stored[column]) || fromFeed) row[column] = value
  }
  if (sameRaw(stored['raw'], row['raw'])) row['raw'] = stored['raw'] ?? null
  return { conflict: null, row }
}

/**
 * Merges a record by its origin: a reconcile run corrects, other feed reads fill and replace, a delivery only fills. @param prefix prefix
 * of the column names in `corrects`.
 */
export function mergeByOrigin(stored: Row, newcomer: Row, identity: readonly string[], { via, corrects }: Origin, prefix = ''): Merge {
  if (via !== 'reconcile') return mergeRecord(stored, newcomer, identity, via !== 'webhook')
  const may = corrects === undefined ? () => true : (column: string) => corrects.includes(`${prefix}${column}`)
  return { conflict: null, row: correctRecord(stored, newcomer, may) }
}

/** @returns the new `gone_at`: null for a record in a feed. A delivery changes nothing, because it may have been sent long ago. */
export function goneAtAfter(stored: { readonly gone_at: TimeText | null }, via: Via): TimeText | null {
  return via === 'webhook' ? stored.gone_at : null
}

/**
 * Corrects a stored row from a full re-read, which is authoritative: every value is taken, even null.
 * @param may whether a column's stored value may be changed or emptied. If any may not, `raw` stays too.
 * @returns the row; equal to the stored row if nothing differs.
 */
function correctRecord(stored: Row, newcomer: Row, may: (column: string) => boolean): Row {
  const row: Row = { ...stored, ...newcomer }
  for (const column of Object.keys(newcomer)) {
    if (column === 'raw' || !hasValue(stored[column]) || may(column) || same(stored, newcomer, column)) continue
    row[column] = stored[column]
    row['raw'] = stored['raw'] ?? null
  }
  if (sameRaw(stored['raw'], row['raw'])) row['raw'] = stored['raw'] ?? null
  return row
}

/** Whether a column has a value. An empty list counts. */
export function hasValue(value: Json | undefined): value is NonNullable<Json> {
  return value !== null && value !== undefined
}

function same(a: Row, b: Row, column: string): boolean {
  return sameJson(a[column] ?? null, b[column] ?? null)
}

/** Whether the values of a column are equal except for list order or missing digits of a time. */
function meansSame(a: Row, b: Row, column: string): boolean {
  const [one, other] = [a[column] ?? null, b[column] ?? null]
  if (Array.isArray(one) && Array.isArray(other)) return sameJson(inOneOrder(one), inOneOrder(other))
  if (typeof one === 'string' && typeof other === 'string' && isTimeText(one) && isTimeText(other)) return isSameMoment(one, other)
  return sameJson(one, other)
}

function inOneOrder(list: readonly Json[]): Json {
  return list.map(canonicalJson).sort()
}

/** Whether two raw texts are equal JSON in any key order. */
export function sameRaw(a: Json | undefined, b: Json | undefined): boolean {
  return a === b || (typeof a === 'string' && typeof b === 'string' && sameJsonText(a, b))
}

/**
 * Whether two JSON texts are equal, apart from the query and fragment of their links. @param aspect selects the part to compare. Default:
 * all.
 */
export function sameJsonText(a: string, b: string, aspect: (value: Json) => Json = (value) => value): boolean {
  if (a === b) return true
  try {
    return sameJson(withStableLinks(aspect(parsed(a))), withStableLinks(aspect(parsed(b))))
  } catch {
    // Too deep to compare: treated as different, so that the new value is stored.
    return false
  }
}

/** @returns the value of a stored JSON text; the text itself if it is not JSON. */
function parsed(text: string): Json {
  try {
    return comparableJson(text)
  } catch {
    return text
  }
}

/** @returns how many attachments a message's object lists; null without such a list. */
export function listedAttachments(raw: string | null): number | null {
  const message: unknown = raw === null ? null : parsed(raw)
  const list = isObject(message) ? message['attachments'] : null
  return Array.isArray(list) ? list.length : null
}
