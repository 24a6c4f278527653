import { createHash } from 'node:crypto'
import { exactText, exactTextWithout } from '../../model/exact-json.ts'
import { isObject, type Json, storableJson, storableJsonText, storableText } from '../../model/json.ts'
import { parseUuid } from '../../model/uuid.ts'

/*
 * Values of the service, as columns hold them. What cannot be read is null in its column and stays in `raw` as it was sent (traps 57, 58). None
 * of these throws.
 */

/** @returns text as both databases can hold it (trap 72), else null. */
export function textOf(value: unknown): string | null {
  return typeof value === 'string' ? storableText(value) : null
}

/** @returns a uuid in lower case, or any other non-empty text unchanged: ids outside paths need not be uuids. */
export function idOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? (parseUuid(value) ?? storableText(value)) : null
}

/** Characters of an id that is part of a key. A Postgres index entry holds some 2,700 bytes. */
const MAX_KEY_LENGTH = 512

/** `idOf` for an id that is part of a key. A longer id is replaced by its hash, and stays in `raw`. */
export function keyOf(value: unknown): string | null {
  const given = idOf(value)
  if (given === null || given.length <= MAX_KEY_LENGTH) return given
  return `sha256:${createHash('sha256').update(given).digest('hex')}`
}

/** Nesting depth of a value in a column. Nothing in the spec nests deeper; such a value stays in `raw`. */
const MAX_DEPTH = 32

/** @returns the JSON value with storable text, or null when it nests too deep. */
export function jsonOf(value: unknown): Json {
  return nestsWithin(value, MAX_DEPTH) ? storableJson(value as Json) : null
}

/** @returns the list with storable text, else null, which is not the empty list. */
export function listOf(value: unknown): Json {
  return Array.isArray(value) ? jsonOf(value) : null
}

function nestsWithin(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  return depth > 0 && Object.values(value).every((item) => nestsWithin(item, depth - 1))
}

/** @returns JSON text with the numbers exactly as received and storable texts; null for values that are not JSON. */
export function rawOf(value: unknown): string | null {
  return storable(jsonText(value, exactText))
}

/** As `rawOf`, for an answer without the list `name`: each item of it has a row, with the item as it came. */
export function rawBeside(name: string, answer: Readonly<Record<string, unknown>>): string | null {
  return storable(jsonText(answer, () => exactTextWithout(answer, name)))
}

function storable(text: string | null): string | null {
  return text === null ? null : storableJsonText(text)
}

function jsonText(value: unknown, write: (value: unknown) => string | undefined): string | null {
  try {
    return write(value) ?? null
  } catch {
    // Nested deeper than the stack allows, or not JSON.
    return null
  }
}

/** @returns a whole number; null for a fraction or a number beyond 2^53, of money too (trap 69). */
export function countOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : null
}

/** @returns a number as a double; null for what is not finite. */
export function numberOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null
}

export function flagOf(value: unknown): boolean | null {
  return typeof value === 'boolean' ? value : null
}

/** @returns text unchanged; any other value as its JSON text, with numbers as doubles, as in every column. */
export function textOrJsonOf(value: unknown): string | null {
  return isObject(value) || Array.isArray(value) ? textOf(jsonText(value, JSON.stringify)) : scalarText(value)
}

function scalarText(value: unknown): string | null {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  return textOf(value)
}
