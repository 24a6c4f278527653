import type { Row } from './entity.ts'
import { comparableJson } from './exact-json.ts'
import { canonicalJson, isObject, type Json, sameJson } from './json.ts'
import { withStableLinks } from './links.ts'
import type { Origin } from './observations.ts'
import type { Via } from './records.ts'
import { isSameMoment, isTimeText, type TimeText } from './time.ts'

/** The identity columns that conflict, or the merged row. */
export type Merge = { readonly conflict: readonly string[] } | { readonly conflict: null; readonly row: Row }

/**
 * Merges a newly received record into the stored record.
 * - Identity: if an identity column differs from the stored value, there is a conflict, and the new record is
 *   ignored. A different list order, or fewer digits of a time, is no conflict.
 * - Fill: an empty column takes the new value. A stored value, even an empty list, is never replaced by null.
 * - Replace: only feed records replace other columns and `raw`. A feed is read later than a delivery is sent, so feed
 *   records are newer, in any order of arrival.
 * @param fromFeed true if the new record was read from a feed. A record of a delivery only fills.
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
 * Merges a record according to its origin. A reconcile run corrects, other feed reads fill and replace, and a
 * delivery only fills.
 * @param prefix prefix of the column names in `corrects`; for an attachment, its position and a dot.
 */
export function mergeByOrigin(stored: Row, newcomer: Row, identity: readonly string[], { via, corrects }: Origin, prefix = ''): Merge {
  if (via !== 'reconcile') return mergeRecord(stored, newcomer, identity, via !== 'webhook')
  const may = corrects === undefined ? () => true : (column: string) => corrects.includes(`${prefix}${column}`)
  return { conflict: null, row: correctRecord(stored, newcomer, may) }
}

/**
 * @returns the new `gone_at`. If a feed contained the record, the result is null, because the record isn't gone. If a
 * delivery contained the record, the result is the stored value, because the delivery may be old.
 */
export function goneAtAfter(stored: { readonly gone_at: TimeText | null }, via: Via): TimeText | null {
  return via === 'webhook' ? stored.gone_at : null
}

/**
 * Corrects a stored row from a full re-read. The row takes all new values, even null.
 * @param may returns true if the new value of a column may replace its stored value. If not, and the values differ, the
 * column and `raw` keep their stored values.
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

/** True if a column has a value. An empty list is a value. */
export function hasValue(value: Json | undefined): value is NonNullable<Json> {
  return value !== null && value !== undefined
}

function same(a: Row, b: Row, column: string): boolean {
  return sameJson(a[column] ?? null, b[column] ?? null)
}

/** True if a column's values are equal, apart from list order and missing digits of a time. */
function meansSame(a: Row, b: Row, column: string): boolean {
  const [one, other] = [a[column] ?? null, b[column] ?? null]
  if (Array.isArray(one) && Array.isArray(other)) return sameJson(inOneOrder(one), inOneOrder(other))
  if (typeof one === 'string' && typeof other === 'string' && isTimeText(one) && isTimeText(other)) return isSameMoment(one, other)
  return sameJson(one, other)
}

function inOneOrder(list: readonly Json[]): Json {
  return list.map(canonicalJson).sort()
}

/** True if two `raw` texts are equal as JSON, with keys in any order and apart from the query and fragment of links. */
export function sameRaw(a: Json | undefined, b: Json | undefined): boolean {
  return a === b || (typeof a === 'string' && typeof b === 'string' && sameJsonText(a, b))
}

/**
 * True if two JSON texts are equal, apart from the query and fragment of links.
 * @param aspect selects the part of each value to compare. Default: the whole value.
 */
export function sameJsonText(a: string, b: string, aspect: (value: Json) => Json = (value) => value): boolean {
  if (a === b) return true
  try {
    return sameJson(withStableLinks(aspect(parsed(a))), withStableLinks(aspect(parsed(b))))
  } catch {
    // A value is nested too deeply to compare. Treat the values as different, so that the new value is stored.
    return false
  }
}

/** @returns the value of a stored JSON text; the text itself if it isn't JSON. */
function parsed(text: string): Json {
  try {
    return comparableJson(text)
  } catch {
    return text
  }
}

/** @returns the number of attachments in a message's object; null without a list of attachments. */
export function listedAttachments(raw: string | null): number | null {
  const message: unknown = raw === null ? null : parsed(raw)
  const list = isObject(message) ? message['attachments'] : null
  return Array.isArray(list) ? list.length : null
}
