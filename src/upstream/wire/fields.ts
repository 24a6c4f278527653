import { createHash } from 'node:crypto'
import { z } from 'zod'
import { exactText, exactTextWithout } from '../../model/exact-json.ts'
import { isObject, type Json, storableJson, storableJsonText, storableText } from '../../model/json.ts'
import { parseDate, parseTime } from '../../model/time.ts'
import { parseUuid } from '../../model/uuid.ts'

/**
 * Building blocks of the wire schemas. A required field that `parse` cannot read makes its record unreadable. An unreadable optional field
 * becomes null in its column and stays in `raw` as it was sent (traps 57, 58). None of them throws.
 */
export function required<T>(parse: (value: unknown) => T | null) {
  return z.unknown().transform((value, context): T => {
    const parsed = parse(value)
    if (parsed !== null) return parsed
    context.issues.push({ code: 'custom', input: value, message: 'missing or not readable' })
    return z.NEVER
  })
}

/** A field that becomes null when it is absent or of another type. */
export function optional<T>(parse: (value: unknown) => T | null) {
  return z.unknown().transform(parse).prefault(null)
}

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

export const text = optional(textOf)
export const id = optional(idOf)
export const uuid = optional(parseUuid)
export const list = optional(listOf)
export const time = optional(parseTime)
export const date = optional(parseDate)
/** A whole number; null for a fraction or a number beyond 2^53. */
export const count = optional((value) => (typeof value === 'number' && Number.isSafeInteger(value) ? value : null))
/** A number as a double; null for what is not finite. */
export const number = optional((value) => (typeof value === 'number' && Number.isFinite(value) ? value : null))
export const flag = optional((value) => (typeof value === 'boolean' ? value : null))
/** Money in cents; null for a fraction or a number beyond 2^53 (trap 69). */
export const cents = optional((value) => (typeof value === 'number' && Number.isSafeInteger(value) ? value : null))
/** Raw items of a list; null when there is no list, which is not an empty one. */
export const items = optional((value) => (Array.isArray(value) ? (value as readonly unknown[]) : null))

/**
 * @param columns read from `raw`, under the names they have there.
 * @returns the columns that are present in `raw`, also as null. An absent field states nothing (see `Reported`).
 */
export function said<Columns extends object>(columns: Columns, raw: unknown): Partial<Columns> {
  const spoken = Object.entries(columns).filter(([name]) => isObject(raw) && raw[name] !== undefined)
  return Object.fromEntries(spoken) as Partial<Columns>
}

/** Text unchanged; any other value as its JSON text, with numbers as doubles, as in every column. */
export const textOrJson = optional((value) =>
  isObject(value) || Array.isArray(value) ? textOf(jsonText(value, JSON.stringify)) : scalarText(value),
)

function scalarText(value: unknown): string | null {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  return textOf(value)
}

/** The readable part of a list. */
export interface ReadList<T> {
  /** In the order in which their ids first appear. */
  readonly items: readonly T[]
  /** JSON text of the unreadable items. */
  readonly unreadable: readonly string[]
  /** Whether there was a list and all its items were readable. */
  readonly whole: boolean
}

/**
 * Reads every item of a list and keeps the readable ones. When an id appears twice, the last item counts.
 * @param raw null when there is no list.
 */
export function readAll<T>(raw: readonly unknown[] | null, read: (item: unknown) => T | null, keyOf: (item: T) => string): ReadList<T> {
  const found = new Map<string, T>()
  const unreadable: string[] = []
  for (const one of raw ?? []) {
    const item = read(one)
    if (item === null) unreadable.push(rawOf(one) ?? 'null')
    else found.set(keyOf(item), item)
  }
  return { items: [...found.values()], unreadable, whole: raw !== null && unreadable.length === 0 }
}
