import { z } from 'zod'
import { isObject, type Json } from '../../model/json.ts'
import type { View } from '../../model/view.ts'
import { parseJson } from '../http/answer.ts'
import { jsonOf, keyOf, rawBeside, required } from './fields.ts'
import { type Given, type Item, keyedRows } from './items.ts'

const session = z.looseObject({ session_id: required(keyOf) })

/**
 * Reads the quote sessions with carriers. The spec does not show the answer: it is taken as an array, or as an object whose only array of
 * objects it is.
 * @returns null when there is no such array.
 */
export function readSessions(raw: unknown): View | null {
  const found = listIn(raw)
  if (found === null) return null
  const given = found.list.map((one): Given => ({ raw: one, beside: questionsOf(one) }))
  const { rows, whole, unreadable } = keyedRows(given, 'session_id', readSession)
  const own = rows.map(({ raw: sessions_raw = null, ...row }) => ({ ...row, sessions_raw }))
  return { submission: { sessions_raw: found.beside }, lists: [{ table: 'carrier_api_sessions', of: {}, rows: own, whole }], unreadable }
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

function readSession(raw: unknown): Item | null {
  const read = session.safeParse(raw).data
  return read ? { id: read.session_id, columns: {} } : null
}

/** The JSON inside the text; text that is none as text. Nothing when the field is absent. */
function questionsOf(raw: unknown): Record<string, Json> {
  const value = isObject(raw) ? raw['missing_required_questions_json'] : undefined
  if (value === undefined) return {}
  const parsed = typeof value === 'string' ? parseJson(value) : undefined
  return { missing_required_questions: jsonOf(parsed === undefined ? value : parsed) }
}
