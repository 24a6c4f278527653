import type { Row } from './entity.ts'
import { type Json, storableText } from './json.ts'

/*
 * On SQLite anybody can store a value of any type in any column. A value that a column must not hold is read as text that begins with
 * U+0000, which no valid text does (see `storableText`). Such text differs from every valid value and can be written back unchanged.
 * It never leaves the program: `readableValue` gives what is stored.
 */

/** The stored value in place of a valid one: a number, a text, or a blob in hexadecimal digits. */
export type Damage = { readonly kind: 'number' | 'text' | 'blob'; readonly text: string }

const MARK = '\u0000'
const DAMAGE = /^(number|text|blob):(.*)$/s

/** @returns the text as which damage is read. */
export function damaged({ kind, text }: Damage): string {
  return `${MARK}${kind}:${text}`
}

/** Whether a value is damage, that is, invalid for its column. */
export function isDamaged(value: Json | undefined): value is string {
  return typeof value === 'string' && value.charCodeAt(0) === MARK.charCodeAt(0)
}

/** @returns the stored value in place of a valid one; null when the value is valid. */
export function damageOf(value: Json | undefined): Damage | null {
  if (!isDamaged(value)) return null
  const [, kind, text = ''] = DAMAGE.exec(value.slice(MARK.length)) ?? []
  return kind === undefined ? null : { kind: kind as Damage['kind'], text }
}

/** @returns the value as readers see it: for damage the stored number or text, for a blob its SQL literal. */
export function readableValue(value: Json): Json {
  const damage = damageOf(value)
  if (damage === null) return value
  if (damage.kind === 'blob') return `x'${damage.text}'`
  const number = Number(damage.text)
  return damage.kind === 'number' && Number.isFinite(number) ? number : storableText(damage.text)
}

/** `readableValue` for every column of a row. */
export function readableRow(row: Row): Row {
  return Object.fromEntries(Object.entries(row).map(([column, value]) => [column, readableValue(value)]))
}
