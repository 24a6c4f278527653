import { createHash } from 'node:crypto'
import { z } from 'zod'
import { exactText } from '../../model/exact-json.ts'
import { isObject, type Json, storableJson, storableText } from '../../model/json.ts'
import { parseDate, parseTime } from '../../model/time.ts'
import { parseUuid } from '../../model/uuid.ts'

/**
 * The building blocks of the wire schemas. A required field that `parse` cannot read makes its record unreadable; an
 * optional one becomes null in its column and stays in `raw` as it was sent (traps 57, 58: nothing optional is ever a
 * reason to refuse a record). None of them throws.
 */
export function required<T>(parse: (value: unknown) => T | null) {
  return z.unknown().transform((value, context): T => {
    const parsed = parse(value)
    if (parsed !== null) return parsed
    context.issues.push({ code: 'custom', input: value, message: 'missing or not readable' })
    return z.NEVER
  })
}

/** A field that may be absent, null or of any other type than the one expected: null then. */
export function optional<T>(parse: (value: unknown) => T | null) {
  return z.unknown().transform(parse).prefault(null)
}

/** @returns text as both databases can hold it (trap 72), else null. */
export function textOf(value: unknown): string | null {
  return typeof value === 'string' ? storableText(value) : null
}

/** @returns a uuid in lower case, or any other text that is not empty as it is; ids outside paths need not be uuids. */
export function idOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? (parseUuid(value) ?? storableText(value)) : null
}

/** Characters of an id that is part of a key: an index of Postgres has room for some 2,700 bytes. */
const MAX_KEY_LENGTH = 512

/** `idOf` for an id that is part of a key; a longer one stands as its hash, and in `raw` as it came. */
export function keyOf(value: unknown): string | null {
  const given = idOf(value)
  if (given === null || given.length <= MAX_KEY_LENGTH) return given
  return `sha256:${createHash('sha256').update(given).digest('hex')}`
}

/** How deep a value in a column may nest; what is deeper is nothing that the spec names, and stays in `raw`. */
const DEPTH = 32

/** @returns the JSON value with storable text, or null when it nests too deep. */
export function jsonOf(value: unknown): Json {
  return nestsWithin(value, DEPTH) ? storableJson(value as Json) : null
}

/** @returns the list with storable text, else null; null is not the empty list. */
export function listOf(value: unknown): Json {
  return Array.isArray(value) ? jsonOf(value) : null
}

function nestsWithin(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  return depth > 0 && Object.values(value).every((item) => nestsWithin(item, depth - 1))
}

/** @returns JSON text of an object or list with the numbers that were received, or null for what JSON cannot say. */
export function rawOf(value: unknown): string | null {
  return written(value, exactText)
}

function written(value: unknown, write: (value: unknown) => string | undefined): string | null {
  try {
    return write(value) ?? null
  } catch {
    // Nested deeper than the stack, or not JSON at all.
    return null
  }
}

export const text = optional(textOf)
export const id = optional(idOf)
export const uuid = optional(parseUuid)
export const list = optional(listOf)
export const time = optional(parseTime)
export const date = optional(parseDate)
export const flag = optional((value) => (typeof value === 'boolean' ? value : null))
/** Money in cents, exactly: a fraction or a number past 2^53 is not guessed at (trap 69). */
export const cents = optional((value) => (typeof value === 'number' && Number.isSafeInteger(value) ? value : null))
/** Items of a list, each still to be read by itself; null when there is no list, which is not an empty one. */
export const items = optional((value) => (Array.isArray(value) ? (value as readonly unknown[]) : null))

/**
 * @param columns read from `raw`, under the names that they have there.
 * @returns those that `raw` speaks of, be it to say null; what it leaves out is no statement (see `Reported`).
 */
export function said<Columns extends object>(columns: Columns, raw: unknown): Partial<Columns> {
  const spoken = Object.entries(columns).filter(([name]) => isObject(raw) && raw[name] !== undefined)
  return Object.fromEntries(spoken) as Partial<Columns>
}

/** Text as it is; any other value as its JSON text, its numbers as a double has them, as in every column; null when there is none. */
export const textOrJson = optional((value) =>
  isObject(value) || Array.isArray(value) ? textOf(written(value, JSON.stringify)) : scalarText(value),
)

function scalarText(value: unknown): string | null {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  return textOf(value)
}

/** What could be read of a list. */
export interface Shown<T> {
  /** In the order in which their ids first appear. */
  readonly items: readonly T[]
  /** JSON text of what could not be read. */
  readonly unreadable: readonly string[]
  /** Whether there was a list and all of it could be read. */
  readonly whole: boolean
}

/**
 * Reads every item of a list and keeps those that can be read. When an id comes twice, the last one counts.
 * @param raw null: there is no list, which is not an empty one.
 */
export function readAll<T>(raw: readonly unknown[] | null, read: (item: unknown) => T | null, keyOf: (item: T) => string): Shown<T> {
  const found = new Map<string, T>()
  const unreadable: string[] = []
  for (const one of raw ?? []) {
    const item = read(one)
    if (item === null) unreadable.push(rawOf(one) ?? 'null')
    else found.set(keyOf(item), item)
  }
  return { items: [...found.values()], unreadable, whole: raw !== null && unreadable.length === 0 }
}
