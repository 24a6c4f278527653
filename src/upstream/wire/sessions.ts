import { z } from 'zod'
import { isObject, type Json } from '../../model/json.ts'
import type { View } from '../../model/view.ts'
import { parseJson } from '../http/answer.ts'
import { jsonOf, keyOf, required } from './fields.ts'
import { type Given, type Item, keyedRows } from './items.ts'

const session = z.looseObject({ session_id: required(keyOf) })

/**
 * Reads the quote sessions with carriers. The spec does not show the answer: it is taken as an array, or as an object whose only array of
 * objects it is.
 * @returns null when there is no such array.
 */
export function readSessions(raw: unknown): View | null {
  const found = bareList(raw)
  if (found === null) return null
  const given = found.map((one): Given => ({ raw: one, beside: questionsOf(one) }))
  const { rows, whole, unreadable } = keyedRows(given, 'session_id', readSession)
  const own = rows.map(({ raw: sessions_raw = null, ...row }) => ({ ...row, sessions_raw }))
  return { submission: null, lists: [{ table: 'carrier_api_sessions', of: {}, rows: own, whole }], unreadable }
}

function bareList(raw: unknown): readonly unknown[] | null {
  if (Array.isArray(raw)) return raw
  if (!isObject(raw)) return null
  const lists = Object.values(raw).filter((value) => Array.isArray(value))
  const [only, ...others] = lists.length > 1 ? lists.filter((list) => list.some(isObject)) : lists
  return only !== undefined && others.length === 0 ? only : null
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
