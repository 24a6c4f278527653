import { isDamaged } from './damaged.ts'
import type { MarketEventRow } from './entities/market-events.ts'
import type { Row } from './entity.ts'
import { comparableJson } from './exact-json.ts'
import type { Origin } from './facts.ts'
import { isObject, type Json, sameJson } from './json.ts'
import type { Via } from './records.ts'
import type { TimeText } from './time.ts'

/** A stored row met again: either it agrees (perhaps with more to say), or it contradicts what was kept. */
export type Merge = { readonly conflict: readonly string[] } | { readonly conflict: null; readonly row: Row }

/**
 * Merges a record that came again into the stored one (invariant 4).
 * - An identity column that differs from a stored value is a conflict: the whole of the newcomer is refused.
 * - A column that was null or absent and now has a value is filled; a value, be it an empty list, is never emptied.
 * - Any other column, `raw` included, follows the feed, which is read later than a delivery is sent: so the order in
 *   which the two ways bring the same record does not matter (invariant 2).
 * @param fromFeed whether the newcomer was read from a feed; a delivery only fills.
 */
export function mergeRecord(stored: Row, newcomer: Row, identity: readonly string[], fromFeed: boolean): Merge {
  const conflict = identity.filter((column) => hasValue(stored[column]) && hasValue(newcomer[column]) && !same(stored, newcomer, column))
  if (conflict.length > 0) return { conflict }
  const row: Row = { ...stored }
  for (const [column, value] of Object.entries(newcomer)) {
    if (!hasValue(value)) continue
    const mayReplace = fromFeed && !identity.includes(column)
    if (!hasValue(stored[column]) || mayReplace) row[column] = value
  }
  if (sameRaw(stored['raw'], row['raw'])) row['raw'] = stored['raw'] ?? null
  return { conflict: null, row }
}

/**
 * Merges a record by the way in which it came: a reconcile run corrects, any other feed fills and follows, a delivery only fills.
 * @param prefix of the columns' names in `corrects`.
 */
export function mergeFound(stored: Row, newcomer: Row, identity: readonly string[], { via, corrects }: Origin, prefix = ''): Merge {
  if (via !== 'reconcile') return mergeRecord(stored, newcomer, identity, via !== 'webhook')
  const may = corrects === undefined ? () => true : (column: string) => corrects.includes(`${prefix}${column}`)
  return { conflict: null, row: correctRecord(stored, newcomer, may) }
}

/** Whether a record that came again is still marked: what a feed shows is there, but a delivery may have been sent long before. */
export function goneAfter(stored: { readonly gone_at: TimeText | null }, via: Via): TimeText | null {
  return via === 'webhook' ? stored.gone_at : null
}

/** How a record that came again was first seen: as it is kept, but where a damaged row no longer tells, a reconcile run sees it anew. */
export function firstSeen({ first_seen_at, first_seen_via }: FirstSeen, via: Via, now: TimeText): FirstSeen {
  if (via !== 'reconcile') return { first_seen_at, first_seen_via }
  return {
    first_seen_at: isDamaged(first_seen_at) ? now : first_seen_at,
    first_seen_via: isDamaged(first_seen_via) ? via : first_seen_via,
  }
}

type FirstSeen = Pick<MarketEventRow, 'first_seen_at' | 'first_seen_via'>

/**
 * What a stored row must be by the word of a replay that is the authority (invariant 4): whatever the newcomer says, null too.
 * @param may whether a value may be emptied or changed. Others have come since the replay: they stand, and so does `raw` then.
 * @returns the row; it equals the stored one when nothing differs.
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

/** Whether a column says something; an empty list does, and what the column cannot hold does not. */
export function hasValue(value: Json | undefined): value is NonNullable<Json> {
  return value !== null && value !== undefined && !isDamaged(value)
}

function same(a: Row, b: Row, column: string): boolean {
  return sameJson(a[column] ?? null, b[column] ?? null)
}

/** Whether two raw texts say the same, whatever the order of their keys: then nothing is written. */
export function sameRaw(a: Json | undefined, b: Json | undefined): boolean {
  return a === b || (typeof a === 'string' && typeof b === 'string' && sameText(a, b))
}

/**
 * Whether two texts of JSON say the same.
 * @param aspect what of them counts; all of it when left out.
 */
export function sameText(a: string, b: string, aspect: (value: Json) => Json = (value) => value): boolean {
  if (a === b) return true
  try {
    return sameJson(aspect(parsed(a)), aspect(parsed(b)))
  } catch {
    // Nested deeper than the stack, which is no reason to refuse the one that came.
    return false
  }
}

/** @returns what a stored text means; the text itself when it was damaged, which SQLite lets happen: it then differs from what is read. */
function parsed(text: string): Json {
  try {
    return comparableJson(text)
  } catch {
    return text
  }
}

/** @returns how many attachments a message's object lists; null when it says nothing of them. */
export function listedAttachments(raw: string | null): number | null {
  const message: unknown = raw === null ? null : parsed(raw)
  const list = isObject(message) ? message['attachments'] : null
  return Array.isArray(list) ? list.length : null
}
