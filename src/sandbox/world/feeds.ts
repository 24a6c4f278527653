import { parseTime } from '../../model/time.ts'
import type { Position } from './cursor.ts'

export interface Positioned {
  readonly id: string
  readonly occurred_at: string
}

interface Entry<T> {
  readonly position: Position
  item: T
  visible: boolean
}

export type FeedState<T> = readonly { readonly item: T; readonly visible: boolean }[]

interface FeedSlice<T> {
  readonly items: readonly T[]
  /** Position of the last item; if `items` is empty, the requested position. */
  readonly end: Position
  readonly more: boolean
}

/**
 * A feed of a submission, in order of time. A hidden item may be shown later, when a client's cursor is
 * already past the item.
 */
export class Feed<T extends Positioned> {
  readonly #entries: Entry<T>[] = []

  /** @throws RangeError if `occurred_at` is invalid or the item exists. */
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

  /**
   * Shows the hidden items that match.
   * @returns the items that were hidden.
   */
  reveal(matches: (item: T) => boolean): T[] {
    const hidden = this.#entries.filter((entry) => !entry.visible && matches(entry.item))
    for (const entry of hidden) entry.visible = true
    return hidden.map((entry) => entry.item)
  }

  conceal(matches: (item: T) => boolean): void {
    for (const entry of this.#entries) if (matches(entry.item)) entry.visible = false
  }

  /**
   * Changes fields of an item. Its id and time stay.
   * @throws RangeError if the id is unknown.
   */
  amend(id: string, patch: Partial<T>): T {
    const entry = this.#entries.find((other) => other.item.id === id)
    if (!entry) throw new RangeError(`no item ${id} in the feed`)
    entry.item = { ...entry.item, ...patch, id, occurred_at: entry.item.occurred_at }
    return entry.item
  }

  visible(): T[] {
    return this.#entries.filter((entry) => entry.visible).map((entry) => entry.item)
  }

  /** @returns at most `limit` visible items after `since`. */
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

  toState(): FeedState<T> {
    return this.#entries.map(({ item, visible }) => ({ item, visible }))
  }

  fromState(state: FeedState<T>): void {
    for (const { item, visible } of state) this.add(item, visible)
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
