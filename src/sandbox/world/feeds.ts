import { parseTime } from '../../model/time.ts'
import type { Position } from './cursor.ts'

/** What every feed item has. */
export interface Positioned {
  readonly id: string
  readonly occurred_at: string
}

interface Entry<T> {
  readonly position: Position
  item: T
  visible: boolean
}

/** Items after a position, and whether there is something visible behind the last of them. */
export interface FeedSlice<T> {
  readonly items: readonly T[]
  /** The position of the last item; the one that was asked for when there is none. */
  readonly end: Position
  readonly more: boolean
}

/**
 * One feed of a submission. An item's place is given by when it occurred; whether it is seen is decided at each read. So something can
 * appear behind a cursor that was given out before.
 */
export class Feed<T extends Positioned> {
  readonly #entries: Entry<T>[] = []

  /** @throws RangeError when the item has no readable `occurred_at`, or stands there already. */
  add(item: T, visible: boolean): void {
    const time = parseTime(item.occurred_at)
    if (time === null) throw new RangeError(`item ${item.id} has no readable occurred_at`)
    const position = { time, id: item.id }
    const at = this.#firstAfter(position)
    const before = this.#entries[at - 1]
    if (before && compare(before.position, position) === 0) throw new RangeError(`item ${item.id} is in the feed already`)
    const entry = { position, item, visible }
    if (at === this.#entries.length) this.#entries.push(entry)
    else this.#entries.splice(at, 0, entry)
  }

  /** Makes hidden items that `chosen` names visible. @returns those that were hidden until now. */
  reveal(chosen: (item: T) => boolean): T[] {
    const hidden = this.#entries.filter((entry) => !entry.visible && chosen(entry.item))
    for (const entry of hidden) entry.visible = true
    return hidden.map((entry) => entry.item)
  }

  /** Makes items that `chosen` names invisible again, until they are revealed. */
  conceal(chosen: (item: T) => boolean): void {
    for (const entry of this.#entries) if (chosen(entry.item)) entry.visible = false
  }

  /** Replaces fields of an item in its place; its id and time stay. @throws RangeError when there is none with that id. */
  amend(id: string, patch: Partial<T>): T {
    const entry = this.#entries.find((other) => other.item.id === id)
    if (!entry) throw new RangeError(`no item ${id} in the feed`)
    entry.item = { ...entry.item, ...patch, id, occurred_at: entry.item.occurred_at }
    return entry.item
  }

  /** @returns everything that can be seen now, oldest first. */
  visible(): T[] {
    return this.#entries.filter((entry) => entry.visible).map((entry) => entry.item)
  }

  /** @returns at most `limit` visible items strictly after `since`. */
  after(since: Position, limit: number): FeedSlice<T> {
    const items: T[] = []
    let end = since
    for (let i = this.#firstAfter(since); i < this.#entries.length; i++) {
      const entry = this.#entries[i] as Entry<T>
      if (!entry.visible) continue
      if (items.length === limit) return { items, end, more: true }
      items.push(entry.item)
      end = entry.position
    }
    return { items, end, more: false }
  }

  #firstAfter(position: Position): number {
    let low = 0
    let high = this.#entries.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (compare((this.#entries[middle] as Entry<T>).position, position) <= 0) low = middle + 1
      else high = middle
    }
    return low
  }
}

function compare(a: Position, b: Position): number {
  if (a.time !== b.time) return a.time < b.time ? -1 : 1
  if (a.id === b.id) return 0
  return a.id < b.id ? -1 : 1
}
