import { carrierApiSessions } from '../../model/entities/carrier-api-sessions.ts'
import { isObject } from '../../model/json.ts'
import type { View } from '../../model/view.ts'
import { rawBeside } from './fields.ts'
import { readList } from './lists.ts'

/**
 * Reads the quote sessions with carriers. The spec does not show the answer: it is taken as an array, or as an object whose only array of
 * objects it is.
 * @returns null when there is no such array.
 */
export function readSessions(raw: unknown): View | null {
  const found = listIn(raw)
  if (found === null) return null
  const { lists, unreadable } = readList(carrierApiSessions, found.list, { read: 'sessions' })
  return { submission: { sessions_raw: found.beside }, lists, unreadable }
}

interface Found {
  readonly list: readonly unknown[]
  /** JSON text of what stands beside the list; null when nothing can. */
  readonly beside: string | null
}

function listIn(raw: unknown): Found | null {
  if (Array.isArray(raw)) return { list: raw, beside: null }
  if (!isObject(raw)) return null
  const lists = Object.entries(raw).flatMap(([name, list]) => (Array.isArray(list) ? [{ name, list: list as readonly unknown[] }] : []))
  const [only, ...others] = lists.length > 1 ? lists.filter(({ list }) => list.some(isObject)) : lists
  return only !== undefined && others.length === 0 ? { list: only.list, beside: rawBeside(only.name, raw) } : null
}
