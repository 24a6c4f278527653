import { readableValue } from './damaged.ts'
import type { EntityDescription, Row } from './entity.ts'

/** The key of a row as one text: its parts in the order of the table, each encoded as a part of a path, with `/` between them. */
export function rowKeyOf({ key }: Pick<EntityDescription, 'key'>, row: Row): string {
  return rowKey(key.map((column) => String(row[column] ?? '')))
}

export function rowKey(parts: readonly string[]): string {
  return parts.map((part) => encodeURIComponent(part.toWellFormed())).join('/')
}

/** The parts of a row's key; null for a text that is none. */
export function partsOfRowKey(text: string): string[] | null {
  try {
    return text.split('/').map(decodeURIComponent)
  } catch {
    return null
  }
}

/** The key of a row as the change log names it: what stands behind `account`, as the text of a JSON list. */
export function entityIdOf({ key }: Pick<EntityDescription, 'key'>, row: Row): string {
  return JSON.stringify(key.slice(1).map((column) => readableValue(row[column] ?? null)))
}
