import type { Change } from '../model/change.ts'
import { diffRow, rawChange } from '../model/diff.ts'
import type { Entity, Row } from '../model/entity.ts'
import { orderByOccurredAt } from '../model/order-by-occurred-at.ts'
import type { Cause } from '../model/records.ts'
import { keyText } from '../model/row-key.ts'
import type { MirrorAccess, OnlyRows } from '../store/mirror/access.ts'

interface Entry {
  /** Row at the start of the transaction; null for a new row. */
  readonly stored: Row | null
  current: Row | null
  cause: Cause
  /** Whether a new row was already inserted. `flush` then updates the row. */
  readonly isInserted: boolean
}

/** Rows of one table in a transaction. Each row is loaded once, changed in memory, then written and logged once. */
export class WorkingSet<R extends Row = Row> {
  readonly #entity: Entity
  readonly #access: MirrorAccess
  readonly #entries = new Map<string, Entry>()
  /** Updated rows without a change log entry: `raw` changed, but no column that the change log records. */
  readonly rawOnly: Change[] = []

  constructor(access: MirrorAccess, entity: Entity) {
    this.#access = access
    this.#entity = entity
  }

  /** Loads the rows of `keys`, unless already loaded. `get` and `put` accept only loaded keys. */
  async load(keys: readonly Row[]): Promise<void> {
    const wanted = new Map<string, Row>()
    for (const key of keys) {
      const text = keyText(this.#entity, key)
      if (!this.#entries.has(text)) wanted.set(text, key)
    }
    if (wanted.size === 0) return
    this.adopt(await this.#access.load(this.#entity, [...wanted.values()]))
    for (const text of wanted.keys()) {
      if (!this.#entries.has(text)) this.#entries.set(text, { stored: null, current: null, cause: 'poll', isInserted: false })
    }
  }

  /**
   * Loads a submission's rows. If `only` is given, loads only the rows that `only` describes.
   * @returns all loaded rows of the submission, as changed in memory. Includes rows that were loaded earlier.
   */
  async loadSubmission(account: string, submissionId: string, only?: OnlyRows): Promise<R[]> {
    this.adopt(await this.#access.loadOfSubmission(this.#entity, account, submissionId, only))
    const rows = [...this.#entries.values()].map((entry) => entry.current)
    return rows.filter((row) => row?.['account'] === account && (row['submission_id'] ?? '') === submissionId) as R[]
  }

  /**
   * Adds rows that were read from the database. Protects their tax ids first, like those of observations.
   * Otherwise a tax id that was stored under another `PROTECT` setting would count as a change. `ProtectStep`
   * rewrites such stored rows.
   */
  adopt(rows: readonly Row[]): void {
    for (const given of rows) {
      const text = keyText(this.#entity, given)
      if (this.#entries.has(text)) continue
      const row = this.#access.protection.row(this.#entity, given)
      this.#entries.set(text, { stored: row, current: row, cause: 'poll', isInserted: false })
    }
  }

  /** Adds a row that this transaction has just inserted. The change log records an insert, not an update. */
  adoptAdded(row: Row, cause: Cause): void {
    this.#entries.set(keyText(this.#entity, row), { stored: null, current: row, cause, isInserted: true })
  }

  /**
   * @returns the current row, or null if there is none.
   * @throws Error if the key was never loaded.
   */
  get(key: Row): R | null {
    const entry = this.#entries.get(keyText(this.#entity, key))
    if (!entry) throw new Error(`${this.#entity.table}: a row was requested that was not loaded`)
    return entry.current as R | null
  }

  /**
   * Sets the row.
   * @throws Error if its key was never loaded.
   */
  put(row: R, cause: Cause): void {
    const text = keyText(this.#entity, row)
    const entry = this.#entries.get(text)
    if (!entry) throw new Error(`${this.#entity.table}: a row was set that was not loaded`)
    // A new row keeps the cause of its first `put`.
    if (entry.stored !== null || entry.current === null) entry.cause = cause
    entry.current = row
  }

  /** Sets only the given columns. In a new row, the other columns are null. The key must have been loaded. */
  merge(columns: Partial<R>, cause: Cause): void {
    const blank = Object.fromEntries(Object.keys(this.#entity.columns).map((column) => [column, null]))
    this.put({ ...blank, ...this.get(columns as Row), ...columns } as R, cause)
  }

  /**
   * @returns the stored and the current version of each changed row that belongs or belonged to the submission. A new
   * row has only a current version.
   */
  changedRows(account: string, submissionId: string): R[] {
    const isOf = (row: Row | null) => row !== null && row['account'] === account && (row['submission_id'] ?? '') === submissionId
    return [...this.#entries.values()].flatMap(({ stored, current, cause }) => {
      const isChanged =
        current !== null && current !== stored && [current, stored].some(isOf) && diffRow(this.#entity, stored, current, cause) !== null
      return isChanged ? ([stored, current].filter((row) => row !== null) as R[]) : []
    })
  }

  /**
   * Writes changed rows in key order, and logs the changes. Inserts are logged in the order in
   * which the records occurred.
   */
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
      if (entry.stored === null && !entry.isInserted) {
        inserts.push(entry.current)
        if (diff.change) insertChanges.push(diff.change)
      } else {
        updates.push(entry.current)
        for (const column of diff.columns) if (!this.#entity.key.includes(column)) columns.add(column)
        if (diff.change) updateChanges.push(diff.change)
        else if (diff.isReported) this.rawOnly.push(rawChange(this.#entity, entry.current, entry.cause))
      }
    }
    const ordered = orderByOccurredAt(this.#entity, insertChanges, ({ after }) => after)
    if (inserts.length > 0) await this.#access.insert(this.#entity, inserts, ordered)
    if (updates.length > 0) await this.#access.update(this.#entity, this.#inTableOrder(columns), updates, updateChanges)
  }

  /** Sorts columns in table order, so that the same columns always give the same prepared statement. */
  #inTableOrder(columns: ReadonlySet<string>): string[] {
    return Object.keys(this.#entity.columns).filter((column) => columns.has(column))
  }
}
