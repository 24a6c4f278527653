import type { Change, Operation } from './change.ts'
import { isDamaged, readableValue } from './damaged.ts'
import { columnsWhere, type Entity, isInChangeLog, type Row } from './entity.ts'
import { sameJson } from './json.ts'
import type { Cause } from './records.ts'
import { entityIdOf } from './row-key.ts'

/** How a row differs from the stored one. `columns` must be written. `change` is null when no column of the change log differs. */
export interface RowDiff {
  readonly columns: readonly string[]
  readonly change: Change | null
}

/** Compares a stored row (null: none) with the new one. @returns null when there is nothing to write. */
export function diffRow(entity: Entity, before: Row | null, after: Row, cause: Cause): RowDiff | null {
  if (before === null) {
    return {
      columns: Object.keys(entity.columns),
      change: change(entity, 'insert', null, pick(after, columnsWhere(entity, isInChangeLog)), after, cause),
    }
  }
  const changed = Object.keys(entity.columns).filter((column) => !sameJson(before[column] ?? null, after[column] ?? null))
  // Volatile columns differ at every read. Alone they are no reason to write, unless the stored value is damaged.
  if (changed.every((column) => entity.fields[column]?.volatile && !isDamaged(before[column]))) return null
  const logged = changed.filter((column) => isLogged(entity, column))
  if (logged.length === 0) return { columns: changed, change: null }
  const operation = logged.includes('gone_at') && after['gone_at'] !== null ? 'gone' : 'update'
  return { columns: changed, change: change(entity, operation, pick(before, logged), pick(after, logged), after, cause) }
}

/** A difference in `raw` alone, which is not a row of the change log. */
export function rawChange(entity: Entity, row: Row, cause: Cause): Change {
  return change(entity, 'update', { raw: null }, { raw: null }, row, cause)
}

function change(entity: Entity, operation: Operation, before: Row | null, after: Row, row: Row, cause: Cause): Change {
  return {
    account: String(row['account']),
    submission_id: (row['submission_id'] ?? null) as string | null,
    entity: entity.table,
    entity_id: entityIdOf(entity, row),
    operation,
    cause,
    before,
    after,
  }
}

function isLogged({ fields }: Entity, column: string): boolean {
  const field = fields[column]
  return field !== undefined && isInChangeLog(field)
}

function pick(row: Row, columns: readonly string[]): Row {
  return Object.fromEntries(columns.map((column) => [column, readableValue(row[column] ?? null)]))
}
