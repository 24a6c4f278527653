import { carrierApiSessions } from '../../model/entities/carrier-api-sessions.ts'
import { isObject } from '../../model/json.ts'
import { sessionLists } from '../../model/unshown-names.ts'
import type { View } from '../../model/view.ts'
import { rawOf, rawWithout } from './fields.ts'
import { readList } from './lists.ts'

/**
 * Reads quote sessions. The specification doesn't define the answer. Accepts a list, an object with a list under a name
 * of `sessionLists`, or an object with a single list of objects. Any other object is stored as one malformed item.
 * @returns null if the answer is neither a list nor an object.
 */
export function readSessions(raw: unknown): View | null {
  if (!Array.isArray(raw) && !isObject(raw)) return null
  const found = listIn(raw)
  if (found === null) {
    const whole = rawOf(raw)
    return { submission: { sessions_raw: whole }, lists: [], unreadable: whole === null ? [] : [whole] }
  }
  const { lists, unreadable } = readList(carrierApiSessions, found.list, { read: 'sessions' })
  return { submission: { sessions_raw: found.otherFields }, lists, unreadable }
}

interface Found {
  readonly list: readonly unknown[]
  /** JSON text of the answer's other fields; null if the answer is a list. */
  readonly otherFields: string | null
}

function listIn(raw: readonly unknown[] | Readonly<Record<string, unknown>>): Found | null {
  if (!isObject(raw)) return { list: raw, otherFields: null }
  const named = sessionLists.find((name) => Array.isArray(raw[name]))
  if (named !== undefined) return { list: raw[named] as readonly unknown[], otherFields: rawWithout(named, raw) }
  const lists = Object.entries(raw).flatMap(([name, list]) => (Array.isArray(list) ? [{ name, list: list as readonly unknown[] }] : []))
  const [only, ...others] = lists.length > 1 ? lists.filter(({ list }) => list.some(isObject)) : lists
  return only !== undefined && others.length === 0 ? { list: only.list, otherFields: rawWithout(only.name, raw) } : null
}
