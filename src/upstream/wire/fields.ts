import { createHash } from 'node:crypto'
import { exactText, exactTextWithout } from '../../model/exact-json.ts'
import { isObject, type Json, storableJson, storableJsonText, storableText } from '../../model/json.ts'
import { parseUuid } from '../../model/uuid.ts'

/** Values of the service as column values. Unreadable values are null, and stay in `raw` (traps 57, 58). Never throws. */

/** @returns text that both databases can store (trap 72), else null. */
export function textOf(value: unknown): string | null {
  return typeof value === 'string' ? storableText(value) : null
}

/** @returns a lower-case UUID, or other non-empty text unchanged. */
export function idOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? (parseUuid(value) ?? storableText(value)) : null
}

/** Limit of an id in a key, in characters. Postgres index entries fit some 2,700 bytes. */
const MAX_KEY_LENGTH = 512

/** `idOf` for a key. A longer id is replaced with its hash. */
export function keyOf(value: unknown): string | null {
  const given = idOf(value)
  if (given === null || given.length <= MAX_KEY_LENGTH) return given
  return `sha256:${createHash('sha256').update(given).digest('hex')}`
}

/** Nesting limit. Nothing in the spec nests deeper. */
const MAX_DEPTH = 32

/** @returns the JSON value with storable text; null if nested too deep. */
export function jsonOf(value: unknown): Json {
  return nestsWithin(value, MAX_DEPTH) ? storableJson(value as Json) : null
}

/** @returns the list with storable text, else null. */
export function listOf(value: unknown): Json {
  return Array.isArray(value) ? jsonOf(value) : null
}

function nestsWithin(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  return depth > 0 && Object.values(value).every((item) => nestsWithin(item, depth - 1))
}

/** @returns JSON text with exact numbers and storable texts; null if not JSON. */
export function rawOf(value: unknown): string | null {
  return storable(jsonText(value, exactText))
}

/** As `rawOf`, without the list `name`, whose items have rows. */
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
    // Too deeply nested, or not JSON.
    return null
  }
}

/** @returns a safe integer, else null (trap 69). */
export function countOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : null
}

export function numberOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null
}

export function flagOf(value: unknown): boolean | null {
  return typeof value === 'boolean' ? value : null
}

/** @returns text unchanged; other values as JSON text, with numbers as doubles. */
export function textOrJsonOf(value: unknown): string | null {
  return isObject(value) || Array.isArray(value) ? textOf(jsonText(value, JSON.stringify)) : scalarText(value)
}

function scalarText(value: unknown): string | null {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  return textOf(value)
}
