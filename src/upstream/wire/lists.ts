import { hash } from 'node:crypto'
import { type Entity, type Field, ownKey, type Row } from '../../model/entity.ts'
import { isObject } from '../../model/json.ts'
import type { ViewList } from '../../model/records.ts'
import { keyOf, rawOf } from './fields.ts'
import { rowOf } from './row.ts'

interface ReadItem {
  readonly row: Row
  readonly item: unknown
}

interface ListReading {
  /** Columns with the key of the parent row. */
  readonly of?: Row
  /** The read that supplies the columns. Default: the table's own read. */
  readonly read?: Entity['read']
  /**
   * Computes columns that the item doesn't have.
   * @param position in the list, from 0.
   */
  readonly addColumns?: (row: Row, position: number) => Row
  /** Whether the answer has the complete list. An unreadable item makes the list incomplete in any case. */
  readonly isWhole?: boolean
}

/** Collects the lists of a view. */
export class Lists {
  readonly lists: ViewList[] = []
  /** JSON texts of items without a row: malformed items, and items whose id a later item repeats with other content. */
  readonly unreadable: string[] = []

  /**
   * Reads a list into rows of a table. If items share an id, the last item gets the row. Items without an id get keys
   * from their content (trap 67).
   * @param items null if the answer has no list. Stored rows are then left unchanged (trap 64).
   * @returns the items that got a row.
   */
  read(entity: Entity, items: readonly unknown[] | null, reading: ListReading = {}): readonly ReadItem[] {
    const { of = {}, read, addColumns = () => ({}), isWhole = items !== null } = reading
    if (items === null && Object.keys(of).length === 0) return []
    const parentKey = ownKey(entity).slice(0, -1)
    const keyColumn = entity.key.at(-1) ?? ''
    const madeOf = entity.fields[keyColumn]?.madeOf
    const found = new Map<string, ReadItem>()
    const repeats = new Map<string, number>()
    let isReadable = true
    for (const [position, item] of (items ?? []).entries()) {
      const columns = rowOf(entity, item, read)
      if (columns === null) {
        isReadable = false
        this.unreadable.push(rawOf(item) ?? 'null')
        continue
      }
      const row: Row = { ...columns, ...addColumns(columns, position), ...of }
      const textOf = (key: string) => JSON.stringify([...parentKey.map((column) => row[column]), key])
      const given = madeOf === undefined ? String(row[keyColumn]) : keyFrom(row, madeOf)
      const key = madeOf === undefined ? given : unusedKey((key) => found.has(textOf(key)), repeats, textOf(given), given)
      const same = found.get(textOf(key))
      if (same !== undefined && rawOf(same.item) !== rawOf(item)) {
        isReadable = false
        this.unreadable.push(rawOf(same.item) ?? 'null')
      }
      found.set(textOf(key), { row: { ...row, [keyColumn]: key }, item })
    }
    const all = [...found.values()]
    this.lists.push({ table: entity.table, of, rows: all.map(({ row }) => row), whole: isWhole && isReadable })
    return all
  }
}

/** Reads one list, for a view with a single list. */
export function readList(...asked: Parameters<Lists['read']>): Lists {
  const found = new Lists()
  found.read(...asked)
  return found
}

/** @returns the service's key. Without such a key, the SHA-256 of the `hashed` columns (a JSON array), in hex. */
function keyFrom(row: Row, { own, hashed }: NonNullable<Field['madeOf']>): string {
  const given = own === undefined ? null : keyOf(row[own])
  return given ?? hash('sha256', JSON.stringify(hashed.map((column) => row[column] ?? null)), 'hex')
}

/**
 * @returns `key`. If `key` is already used, the first unused key of `key#2`, `key#3`, and so on.
 * @param repeats remembers the last number of each `group`.
 */
function unusedKey(isUsed: (key: string) => boolean, repeats: Map<string, number>, group: string, key: string): string {
  if (!isUsed(key)) return key
  let count = (repeats.get(group) ?? 1) + 1
  while (isUsed(`${key}#${count}`)) count += 1
  repeats.set(group, count)
  return `${key}#${count}`
}

/** @returns the list in the field `name`; null if there is no list. */
export function itemsIn(raw: unknown, name: string): readonly unknown[] | null {
  const list = isObject(raw) ? raw[name] : null
  return Array.isArray(list) ? (list as readonly unknown[]) : null
}
