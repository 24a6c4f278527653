import type { Change } from '../model/change.ts'
import { diffRow, rawChange } from '../model/diff.ts'
import type { Entity, Row } from '../model/entity.ts'
import type { Cause } from '../model/records.ts'
import { inTime } from '../model/row-times.ts'
import type { MirrorAccess } from '../store/mirror/access.ts'

interface Entry {
  /** As it was at the beginning of the transaction; null when it is new. */
  readonly stored: Row | null
  current: Row | null
  cause: Cause
  /** The row stands in the table already although it is new: only its columns are still to be written. */
  readonly placed: boolean
}

/**
 * The rows of one entity that a transaction looks at: loaded once, changed in memory as often as needed, written once. So
 * a batch that touches a row many times writes it once and logs it once.
 */
export class WorkingSet<R extends Row = Row> {
  readonly #entity: Entity
  readonly #access: MirrorAccess
  readonly #entries = new Map<string, Entry>()
  /** Rows of which `flush` found that `raw` alone differs, as changes that the log does not hold. */
  readonly rawOnly: Change[] = []

  constructor(access: MirrorAccess, entity: Entity) {
    this.#access = access
    this.#entity = entity
  }

  /** Loads the rows of `keys` that were not loaded before; `get` then answers for each of them. */
  async load(keys: readonly Row[]): Promise<void> {
    const wanted = new Map<string, Row>()
    for (const key of keys) {
      const text = this.#keyText(key)
      if (!this.#entries.has(text)) wanted.set(text, key)
    }
    if (wanted.size === 0) return
    this.adopt(await this.#access.load(this.#entity, [...wanted.values()]))
    for (const text of wanted.keys()) {
      if (!this.#entries.has(text)) this.#entries.set(text, { stored: null, current: null, cause: 'poll', placed: false })
    }
  }

  /** Loads every row of a submission and returns those as they now stand, with what this transaction has set but not written yet. */
  async loadSubmission(account: string, submissionId: string): Promise<R[]> {
    this.adopt(await this.#access.loadOfSubmission(this.#entity, account, submissionId))
    const rows = [...this.#entries.values()].map((entry) => entry.current)
    return rows.filter((row) => row?.['account'] === account && row['submission_id'] === submissionId) as R[]
  }

  /** Takes over rows that were loaded elsewhere in this transaction. */
  adopt(rows: readonly Row[]): void {
    for (const row of rows) {
      const text = this.#keyText(row)
      if (!this.#entries.has(text)) this.#entries.set(text, { stored: row, current: row, cause: 'poll', placed: false })
    }
  }

  /** Takes over a row that this transaction has just added: it counts as new in the change log. */
  adoptAdded(row: Row, cause: Cause): void {
    this.#entries.set(this.#keyText(row), { stored: null, current: row, cause, placed: true })
  }

  /** The row as it now stands, or null. @throws Error when its key was never loaded. */
  get(key: Row): R | null {
    const entry = this.#entries.get(this.#keyText(key))
    if (!entry) throw new Error(`${this.#entity.table}: a row was asked for that was not loaded`)
    return entry.current as R | null
  }

  /** Sets the row. Its key must have been loaded. */
  put(row: R, cause: Cause): void {
    const text = this.#keyText(row)
    const entry = this.#entries.get(text)
    if (!entry) throw new Error(`${this.#entity.table}: a row was set that was not loaded`)
    // What is new was caused by whatever brought it first.
    if (entry.stored !== null || entry.current === null) entry.cause = cause
    entry.current = row
  }

  /** Sets the columns that `said` holds; the others keep what they are, and are null in a new row. Its key must have been loaded. */
  merge(said: Partial<R>, cause: Cause): void {
    const blank = Object.fromEntries(Object.keys(this.#entity.columns).map((column) => [column, null]))
    this.put({ ...blank, ...this.get(said as Row), ...said } as R, cause)
  }

  /** Writes what differs, in key order, and notes the changes; new records are told of in the order in which they happened. */
  async flush(): Promise<void> {
    const inserts: Row[] = []
    const insertChanges: Change[] = []
    const updates: Row[] = []
    const updateChanges: Change[] = []
    const columns = new Set<string>()
    for (const [, entry] of [...this.#entries].sort(([a], [b]) => (a < b ? -1 : 1))) {
      if (entry.current === null || entry.current === entry.stored) continue
      const diff = diffRow(this.#entity, entry.stored, entry.current, entry.cause)
      if (diff === null) continue
      if (entry.stored === null && !entry.placed) {
        inserts.push(entry.current)
        if (diff.change) insertChanges.push(diff.change)
      } else {
        updates.push(entry.current)
        for (const column of diff.columns) if (!this.#entity.key.includes(column)) columns.add(column)
        if (diff.change) updateChanges.push(diff.change)
        else this.rawOnly.push(rawChange(this.#entity, entry.current, entry.cause))
      }
    }
    const told = inTime(this.#entity, insertChanges, ({ after }) => after)
    if (inserts.length > 0) await this.#access.insert(this.#entity, inserts, told)
    if (updates.length > 0) await this.#access.update(this.#entity, this.#inTableOrder(columns), updates, updateChanges)
  }

  /** In the table's order, so that few different statements are ever prepared. */
  #inTableOrder(columns: ReadonlySet<string>): string[] {
    return Object.keys(this.#entity.columns).filter((column) => columns.has(column))
  }

  #keyText(row: Row): string {
    return JSON.stringify(this.#entity.key.map((column) => row[column]))
  }
}
