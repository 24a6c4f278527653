import { isObject, type Json } from '../../model/json.ts'
import { personalDataFilter } from '../../model/personal.ts'
import { pluralize } from './words.ts'

/** Longest text of one value in a report, in characters. */
const MAX_VALUE = 160

const withoutPersonal = personalDataFilter([])

/**
 * A column's value as a report may show it: JSON, cut to a line or two. Personal values show only their length, and `raw` is never shown
 * (invariant 12).
 * @param value undefined when that side has no value for the column.
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

/** Text from outside in one line. Control characters and those that change the writing direction are escaped. */
export function shownText(text: string, limit: number): string {
  const line = text
    .replace(/\s+/g, ' ')
    .trim()
    // biome-ignore lint/suspicious/noControlCharactersInRegex: escaping control characters is the purpose.
    .replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g, escaped)
    .toWellFormed()
  return line.length > limit ? `${line.slice(0, limit - 1).toWellFormed()}…` : line
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
