import { readFileSync } from 'node:fs'
import { utf8Text } from '../../base/utf8.ts'
import type { Path } from './names.ts'

/** Values by the keys of the settings file. */
export type Tree = { [key: string]: unknown }

/** Stands for a value that is set but could not be read, so that no default takes its place. */
export const UNREADABLE = null

/** Whether a value holds others under keys. */
export function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** @returns what stands under a key, or at a position, of whatever somebody has written there; undefined when nothing does. */
export function field(value: unknown, key: string | number): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string | number, unknown>)[key] : undefined
}

/** @returns a list as it is; whatever else somebody has written in its place is an empty one. */
export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** What one source of settings says, and what is wrong with it. */
export interface Reading {
  readonly tree: Tree
  /** One line each, which names the setting and the mend and never a value. */
  readonly problems: readonly string[]
  /** Keys (see `keyOf`) of the values that are UNREADABLE: `problems` already tells what is wrong with them. */
  readonly reported: ReadonlySet<string>
}

/** @returns the path as text, to compare and to look up. */
export function keyOf(path: Path): string {
  return path.join('.')
}

const NOT_UTF8 = 'that is not UTF-8; save it as UTF-8'

/** @returns what a file holds, or what is wrong when it cannot be read: to be put behind `names a file`. */
export function readBytes(path: string): { readonly bytes: Buffer } | { readonly problem: string } {
  try {
    return { bytes: readFileSync(path) }
  } catch (error) {
    // The message would repeat the path, in which a secret stands when someone put it in the wrong place.
    const reason = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable'
    return { problem: `that cannot be read (${reason}); mend the path or its rights` }
  }
}

/** The same of a text. */
export function readText(path: string): { readonly text: string } | { readonly problem: string } {
  const read = readBytes(path)
  if ('problem' in read) return read
  const text = utf8Text(read.bytes)
  return text === null ? { problem: NOT_UTF8 } : { text }
}

/**
 * Reads a file that holds one value: text, without the line break that editors and `echo` put behind it, and the mark of UTF-8 (U+FEFF)
 * that some put before it.
 */
export function readValue(path: string): ReturnType<typeof readText> {
  const read = readText(path)
  return 'problem' in read ? read : { text: read.text.replace(/^\uFEFF|\r?\n$/g, '') }
}

/** Keys as they may be shown: a key that is no plain word might be a secret in the wrong place. */
export function tidyKey<T extends string | number>(key: T): T | string {
  return typeof key === 'number' || /^[A-Za-z_-]{1,40}$/.test(key) ? key : '(a key not shown)'
}
