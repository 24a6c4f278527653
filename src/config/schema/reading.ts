import { readFileSync } from 'node:fs'
import { utf8Text } from '../../base/utf8.ts'

/** Path of a value in the settings file: keys, and positions in lists. */
export type Path = readonly (string | number)[]

/** Values by the keys of the settings file. The schema hasn't checked them yet. */
export type Tree = { [key: string]: unknown }

/** A value that is set but couldn't be read. Null instead of undefined, because a default would replace undefined. */
export const UNREADABLE = null

export function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** @returns the value at a key or position of an unchecked value; undefined if `value` has no such key or position. */
export function field(value: unknown, key: string | number): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string | number, unknown>)[key] : undefined
}

/** @returns the value if it is a list; otherwise an empty list. */
export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

export interface Reading {
  readonly tree: Tree
  /** One line for each problem: the setting and what to do, never its value. */
  readonly problems: readonly string[]
  /** Keys (see `keyOf`) of UNREADABLE values that are already in `problems`. */
  readonly reported: ReadonlySet<string>
}

/** @returns the path as text, for the keys of maps and sets. */
export function keyOf(path: Path): string {
  return path.join('.')
}

const NOT_UTF8 = 'that is not UTF-8; save it as UTF-8'

/** @returns the bytes of a file, or a problem. The problem continues the words `NAME names a file`. */
export function readBytes(path: string): { readonly bytes: Buffer } | { readonly problem: string } {
  try {
    return { bytes: readFileSync(path) }
  } catch (error) {
    // Uses only the error's code. Its message contains the path, which may be a misplaced secret.
    const reason = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable'
    return { problem: `that cannot be read (${reason}); check the path and its permissions` }
  }
}

/** Like `readBytes`, for UTF-8 text. */
export function readText(path: string): { readonly text: string } | { readonly problem: string } {
  const read = readBytes(path)
  if ('problem' in read) return read
  const text = utf8Text(read.bytes)
  return text === null ? { problem: NOT_UTF8 } : { text }
}

/** Reads a file that contains one value. Removes a byte order mark (U+FEFF) and the final line break. */
export function readValue(path: string): ReturnType<typeof readText> {
  const read = readText(path)
  return 'problem' in read ? read : { text: read.text.replace(/^\uFEFF|\r?\n$/g, '') }
}

/** @returns a key if it is safe to show. Otherwise a placeholder, because the key might be a misplaced secret. */
export function shownKey<T extends string | number>(key: T): T | string {
  return typeof key === 'number' || /^(?:[A-Za-z_-]{1,40}|s3)$/.test(key) ? key : '(a key not shown)'
}
