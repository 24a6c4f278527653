import { escaped } from '../../base/printable.ts'
import { isObject, type Json } from '../../model/json.ts'
import { personalDataFilter } from '../../model/personal.ts'
import { pluralize } from './words.ts'

const MAX_VALUE = 160

const withoutPersonal = personalDataFilter([])

/**
 * @returns a column's value for a report, as JSON of limited length. For a personal value, only its length or type.
 * `raw` is never shown.
 * @param value undefined if this side, the mirror or the service, has no value for the column.
 */
export function shownValue(entity: string, field: string, value: Json | undefined): string {
  if (field === 'raw') return '(not shown)'
  if (value === undefined) return 'not given'
  if (value === null) return 'null'
  const shown = withoutPersonal(entity, { [field]: value })?.[field]
  return shown === undefined || shown === null ? masked(value) : shownText(JSON.stringify(shown), MAX_VALUE)
}

function masked(value: Json): string {
  if (typeof value === 'string') return `text of ${pluralize(value.length, 'character')} (not shown)`
  if (Array.isArray(value)) return `list of ${value.length} (not shown)`
  return isObject(value) ? 'object (not shown)' : '(not shown)'
}

/**
 * @returns untrusted text as one line of at most `limit` characters. Control characters, and characters that change the
 * writing direction, are escaped.
 */
export function shownText(text: string, limit: number): string {
  const line = text
    .replace(/\s+/g, ' ')
    .trim()
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern must match control characters.
    .replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g, escaped)
    .toWellFormed()
  return line.length > limit ? `${line.slice(0, limit - 1).toWellFormed()}…` : line
}
