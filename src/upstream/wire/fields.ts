import { createHash } from 'node:crypto'
import { exactText, exactTextWithout } from '../../model/exact-json.ts'
import { isObject, type Json, storableJson, storableJsonText, storableText } from '../../model/json.ts'
import { parseUuid } from '../../model/uuid.ts'

/**
 * Converts values of the service to column values. An unreadable value becomes null and stays in the column `raw`
 * (traps 57, 58). Never throws.
 */

/** @returns a text that both databases can store (trap 72); null if the value isn't text. */
export function textOf(value: unknown): string | null {
  return typeof value === 'string' ? storableText(value) : null
}

/** @returns a UUID in lower case, or another non-empty text; null for other values. */
export function idOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? (parseUuid(value) ?? storableText(value)) : null
}

/** Limit of an id in a key, in characters. A Postgres index entry can have about 2,700 bytes. */
const MAX_KEY_LENGTH = 512

/** Like `idOf`, for a key column. A hash replaces an id that is longer than `MAX_KEY_LENGTH`. */
export function keyOf(value: unknown): string | null {
  const given = idOf(value)
  if (given === null || given.length <= MAX_KEY_LENGTH) return given
  return `sha256:${createHash('sha256').update(given).digest('hex')}`
}

/** Nesting limit of JSON values. No value in the specification is nested deeper. */
const MAX_DEPTH = 32

/** @returns the JSON value with texts that both databases can store; null if the value is nested too deep. */
export function jsonOf(value: unknown): Json {
  return nestsWithin(value, MAX_DEPTH) ? storableJson(value as Json) : null
}

/**
 * @returns the list with texts that both databases can store; null if the value isn't a list, or is nested too deep.
 */
export function listOf(value: unknown): Json {
  return Array.isArray(value) ? jsonOf(value) : null
}

function nestsWithin(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  return depth > 0 && Object.values(value).every((item) => nestsWithin(item, depth - 1))
}

/**
 * @returns JSON text with exact numbers and texts that both databases can store; null if the value can't be
 * written as JSON.
 */
export function rawOf(value: unknown): string | null {
  return storable(jsonText(value, exactText))
}

/** Like `rawOf`, without the list `name`. The items of this list have their own rows. */
export function rawWithout(name: string, answer: Readonly<Record<string, unknown>>): string | null {
  return storable(jsonText(answer, () => exactTextWithout(answer, name)))
}

function storable(text: string | null): string | null {
  return text === null ? null : storableJsonText(text)
}

function jsonText(value: unknown, write: (value: unknown) => string | undefined): string | null {
  try {
    return write(value) ?? null
  } catch {
    // The value is nested too deep, or isn't JSON.
    return null
  }
}

/** @returns the number if it is a safe integer (trap 69); otherwise null. */
export function countOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : null
}

export function numberOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null
}

export function flagOf(value: unknown): boolean | null {
  return typeof value === 'boolean' ? value : null
}

/**
 * @returns text as it is, and any other value as JSON text; null if there is no value. Numbers are written as
 * JavaScript doubles.
 */
export function textOrJsonOf(value: unknown): string | null {
  return isObject(value) || Array.isArray(value) ? textOf(jsonText(value, JSON.stringify)) : scalarText(value)
}

function scalarText(value: unknown): string | null {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  return textOf(value)
}
