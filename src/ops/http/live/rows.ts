import type { Query } from '../../../store/engine/db.ts'
import type { NumberedRow, ReadAgain, ReadNews } from '../../../store/upkeep/news.ts'

/** Rows that are told of at one look; more are too many to follow. */
const MOST_AT_ONCE = 100
/** Rows whose further way is followed: the newest. */
const MOST_FOLLOWED = 300
/** On Postgres a lower number may be committed after a higher one. */
const LATE_NUMBERS = 200

export interface Seen<Row> {
  /** New ones, and those with another state than before; by number. */
  readonly rows: readonly Row[]
  /** There were more new ones than are told of. */
  readonly isCut: boolean
}

/** Follows numbered rows, from a number on: the new ones, and what becomes of those that were not yet settled. */
export class FollowedRows<Row extends NumberedRow> {
  readonly #read: ReadNews<Row>
  readonly #again: ReadAgain<Row>
  readonly #isOpen: (state: string) => boolean
  readonly #start: number
  readonly #seen = new Map<number, string>()
  #highest: number

  /** @param start told of are only rows behind it. */
  constructor(read: ReadNews<Row>, again: ReadAgain<Row>, isOpen: (state: string) => boolean, start: number) {
    this.#read = read
    this.#again = again
    this.#isOpen = isOpen
    this.#start = start
    this.#highest = start
  }

  async look(q: Query): Promise<Seen<Row>> {
    const floor = Math.max(this.#start, this.#highest - LATE_NUMBERS)
    const newest = await this.#read(q, floor, MOST_AT_ONCE + LATE_NUMBERS)
    const fresh = newest.filter(({ id }) => !this.#seen.has(id))
    const isCut = fresh.length > MOST_AT_ONCE
    const told = fresh.slice(0, MOST_AT_ONCE)
    const open = [...this.#seen].filter(([, signature]) => this.#isOpen(stateIn(signature))).map(([id]) => id)
    const followed = open.length === 0 ? [] : await this.#again(q, open)
    const moved = followed.filter((row) => this.#seen.get(row.id) !== signatureOf(row))
    for (const row of [...fresh, ...moved]) this.#seen.set(row.id, signatureOf(row))
    this.#highest = Math.max(this.#highest, newest[0]?.id ?? 0)
    this.#forget()
    return { rows: [...told, ...moved].sort((a, b) => a.id - b.id), isCut }
  }

  /** Those that may still come late are remembered, and the newest of those that are not settled. */
  #forget(): void {
    const ids = [...this.#seen.keys()].sort((a, b) => b - a)
    for (const [index, id] of ids.entries()) {
      const mayComeLate = id > this.#highest - LATE_NUMBERS
      const isFollowed = index < MOST_FOLLOWED && this.#isOpen(stateIn(this.#seen.get(id) ?? ''))
      if (!mayComeLate && !isFollowed) this.#seen.delete(id)
    }
  }
}

function signatureOf(row: NumberedRow & { readonly attempts?: number }): string {
  return `${row.state} ${row.attempts ?? 0}`
}

function stateIn(signature: string): string {
  return signature.split(' ')[0] ?? ''
}
