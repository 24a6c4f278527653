import type { Change, Operation } from './change.ts'
import { told } from './damaged.ts'
import { columnsWhere, type Entity, isTold, type Row } from './entity.ts'
import { sameJson } from './json.ts'
import type { Cause } from './records.ts'

/** How a row differs from what is stored. `columns` lists what must be written; `change` is null when nothing differs that the log tells. */
export interface RowDiff {
  readonly columns: readonly string[]
  readonly change: Change | null
}

/**
 * Compares a stored row (null: none) with what it should be.
 * @returns null when there is nothing to write.
 */
export function diffRow(entity: Entity, before: Row | null, after: Row, cause: Cause): RowDiff | null {
  if (before === null) {
    return {
      columns: Object.keys(entity.columns),
      change: change(entity, 'insert', null, pick(after, columnsWhere(entity, isTold)), after, cause),
    }
  }
  const changed = Object.keys(entity.columns).filter((column) => !sameJson(before[column] ?? null, after[column] ?? null))
  // What every read bears anew is no reason to write.
  if (changed.every((column) => entity.fields[column]?.volatile)) return null
  const logged = changed.filter((column) => isLogged(entity, column))
  if (logged.length === 0) return { columns: changed, change: null }
  const operation = logged.includes('gone_at') && after['gone_at'] !== null ? 'gone' : 'update'
  return { columns: changed, change: change(entity, operation, pick(before, logged), pick(after, logged), after, cause) }
}

/** What is no row of the change log: `raw` alone says something else than before. */
export function rawChange(entity: Entity, row: Row, cause: Cause): Change {
  return change(entity, 'update', { raw: null }, { raw: null }, row, cause)
}

function change(entity: Entity, operation: Operation, before: Row | null, after: Row, row: Row, cause: Cause): Change {
  const entity_id = JSON.stringify(entity.key.slice(1).map((column) => told(row[column] ?? null)))
  return {
    account: String(row['account']),
    submission_id: String(row['submission_id']),
    entity: entity.table,
    entity_id,
    operation,
    cause,
    before,
    after,
  }
}

function isLogged({ fields }: Entity, column: string): boolean {
  const field = fields[column]
  return field !== undefined && isTold(field)
}

function pick(row: Row, columns: readonly string[]): Row {
  return Object.fromEntries(columns.map((column) => [column, told(row[column] ?? null)]))
}
