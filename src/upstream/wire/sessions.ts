import { carrierApiSessions } from '../../model/entities/carrier-api-sessions.ts'
import { isObject } from '../../model/json.ts'
import { sessionLists } from '../../model/unshown-names.ts'
import type { View } from '../../model/view.ts'
import { rawBeside, rawOf } from './fields.ts'
import { readList } from './lists.ts'

/**
 * Reads the quote sessions with carriers. The spec does not show the answer: it is an array, an object whose only array of objects it is, or
 * an object that has the list under one of its plausible names. An answer of another shape is kept, and counts as one item that is not
 * understood.
 * @returns null when the answer is neither a list nor an object.
 */
export function readSessions(raw: unknown): View | null {
  if (!Array.isArray(raw) && !isObject(raw)) return null
  const found = listIn(raw)
  if (found === null) {
    const whole = rawOf(raw)
    return { submission: { sessions_raw: whole }, lists: [], unreadable: whole === null ? [] : [whole] }
  }
  const { lists, unreadable } = readList(carrierApiSessions, found.list, { read: 'sessions' })
  return { submission: { sessions_raw: found.beside }, lists, unreadable }
}

interface Found {
  readonly list: readonly unknown[]
  /** JSON text of what stands beside the list; null when nothing can. */
  readonly beside: string | null
}

function listIn(raw: readonly unknown[] | Readonly<Record<string, unknown>>): Found | null {
  if (!isObject(raw)) return { list: raw, beside: null }
  const named = sessionLists.find((name) => Array.isArray(raw[name]))
  if (named !== undefined) return { list: raw[named] as readonly unknown[], beside: rawBeside(named, raw) }
  const lists = Object.entries(raw).flatMap(([name, list]) => (Array.isArray(list) ? [{ name, list: list as readonly unknown[] }] : []))
  const [only, ...others] = lists.length > 1 ? lists.filter(({ list }) => list.some(isObject)) : lists
  return only !== undefined && others.length === 0 ? { list: only.list, beside: rawBeside(only.name, raw) } : null
}
