import { hash } from 'node:crypto'
import { type Entity, type Field, ownKey, type Row } from '../../model/entity.ts'
import { isObject } from '../../model/json.ts'
import type { ViewList } from '../../model/records.ts'
import { keyOf, rawOf } from './fields.ts'
import { rowOf } from './row.ts'

/** An item of a list, and its row. */
export interface ReadItem {
  readonly row: Row
  readonly item: unknown
}

/** How a list is read; all of it may be left out. */
export interface ListReading {
  /** Key columns that its rows share beside the submission: the key of their parent row. */
  readonly of?: Row
  /** The read, when it is another than the table's own. */
  readonly read?: Entity['read']
  /** Columns that do not stand in the item. @param row what does. @param position in the list, from 0. */
  readonly beside?: (row: Row, position: number) => Row
  /** Whether the service showed all of it; the items must be readable too. */
  readonly isWhole?: boolean
}

/** The lists of a view, as they are read. */
export class Lists {
  readonly lists: ViewList[] = []
  /** JSON text of the items without a row: those that can't be read, and those whose id another item of the list has. */
  readonly unreadable: string[] = []

  /**
   * Reads a list into rows of a table. If different items have the same id, the last one gets the row and the others count as unreadable.
   * Items without an id are numbered (trap 67).
   * @param items null when there is no list, which is unknown (trap 64): nothing is concluded about the table, or about the rows of one parent.
   * @returns the items with a row.
   */
  read(entity: Entity, items: readonly unknown[] | null, reading: ListReading = {}): readonly ReadItem[] {
    const { of = {}, read, beside = () => ({}), isWhole = items !== null } = reading
    if (items === null && Object.keys(of).length === 0) return []
    const parentKey = ownKey(entity).slice(0, -1)
    const keyColumn = entity.key.at(-1) ?? ''
    const madeOf = entity.fields[keyColumn]?.madeOf
    const found = new Map<string, ReadItem>()
    const repeats = new Map<string, number>()
    let isReadable = true
    for (const [position, item] of (items ?? []).entries()) {
      const told = rowOf(entity, item, read)
      if (told === null) {
        isReadable = false
        this.unreadable.push(rawOf(item) ?? 'null')
        continue
      }
      const row: Row = { ...told, ...beside(told, position), ...of }
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

/** Reads the only list of a view. */
export function readList(...asked: Parameters<Lists['read']>): Lists {
  const found = new Lists()
  found.read(...asked)
  return found
}

/** @returns the service's own key, else the SHA-256 of the columns as a JSON array, in lower-case hex. */
function keyFrom(row: Row, { own, hashed }: NonNullable<Field['madeOf']>): string {
  const given = own === undefined ? null : keyOf(row[own])
  return given ?? hash('sha256', JSON.stringify(hashed.map((column) => row[column] ?? null)), 'hex')
}

/** @returns `key`, or with the first `#2`, `#3` … that no row has. @param repeats the last number by `group`. */
function unusedKey(isUsed: (key: string) => boolean, repeats: Map<string, number>, group: string, key: string): string {
  if (!isUsed(key)) return key
  let count = (repeats.get(group) ?? 1) + 1
  while (isUsed(`${key}#${count}`)) count += 1
  repeats.set(group, count)
  return `${key}#${count}`
}

/** @returns what an object has under `name`, as items; null when there is no list. */
export function itemsIn(raw: unknown, name: string): readonly unknown[] | null {
  const list = isObject(raw) ? raw[name] : null
  return Array.isArray(list) ? (list as readonly unknown[]) : null
}
