import type { EntityDescription, Row } from './entity.ts'

/** @returns a row's key as one text: URL-encoded parts in the order of the table, joined by `/`. */
export function rowKeyOf({ key }: Pick<EntityDescription, 'key'>, row: Row): string {
  return rowKey(key.map((column) => String(row[column] ?? '')))
}

export function rowKey(parts: readonly string[]): string {
  return parts.map((part) => encodeURIComponent(part.toWellFormed())).join('/')
}

/** @returns the parts of a row's key; null if the text is malformed. */
export function partsOfRowKey(text: string): string[] | null {
  try {
    return text.split('/').map(decodeURIComponent)
  } catch {
    return null
  }
}

/** @returns a row's key in the change log: the key columns after `account`, as JSON array text. */
export function entityIdOf({ key }: Pick<EntityDescription, 'key'>, row: Row): string {
  return JSON.stringify(key.slice(1).map((column) => row[column] ?? null))
}

/** @returns a row's key as one text, for maps and sets. */
export function keyText({ key }: { readonly key: readonly string[] }, row: Row): string {
  return JSON.stringify(key.map((column) => row[column] ?? null))
}
