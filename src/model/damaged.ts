import type { Row } from './entity.ts'
import { type Json, storableText } from './json.ts'

/*
 * SQLite lets anybody store anything in any column. What a column cannot hold is read as a text that begins with U+0000, as no right value
 * does (see `storableText`): so it differs from whatever is right, passes for a text wherever one is looked at, and can be written back as
 * it was. Nobody outside gets to see it so: `told` says what stands there.
 */

/** What stands in the database in place of a value: a number, a text, or the bytes of a blob in hexadecimal digits. */
export type Damage = { readonly kind: 'number' | 'text' | 'blob'; readonly text: string }

const MARK = '\u0000'
const DAMAGE = /^(number|text|blob):(.*)$/s

/** @returns the value as which damage is read. */
export function damaged({ kind, text }: Damage): string {
  return `${MARK}${kind}:${text}`
}

/** Whether a value that was read is none that its column can hold. */
export function isDamaged(value: Json | undefined): value is string {
  return typeof value === 'string' && value.charCodeAt(0) === MARK.charCodeAt(0)
}

/** @returns what stands in the database in place of a value; null when it is a right one. */
export function damageOf(value: Json | undefined): Damage | null {
  // Asked for every value that is written.
  if (!isDamaged(value)) return null
  const [, kind, text = ''] = DAMAGE.exec(value.slice(MARK.length)) ?? []
  return kind === undefined ? null : { kind: kind as Damage['kind'], text }
}

/** @returns the value as readers are told of it: of a damaged one the number or text that stands there, of a blob SQL's word for it. */
export function told(value: Json): Json {
  const damage = damageOf(value)
  if (damage === null) return value
  if (damage.kind === 'blob') return `x'${damage.text}'`
  const number = Number(damage.text)
  return damage.kind === 'number' && Number.isFinite(number) ? number : storableText(damage.text)
}

/** `told` for every column of a row. */
export function toldRow(row: Row): Row {
  return Object.fromEntries(Object.entries(row).map(([column, value]) => [column, told(value)]))
}
