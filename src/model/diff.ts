import type { Change, Operation } from './change.ts'
import { told } from './damaged.ts'
import type { Entity, Row } from './entities.ts'
import { sameJson } from './json.ts'
import type { Cause } from './records.ts'

/** How a row differs from what is stored. `columns` lists what must be written; `change` is null when only `raw` differs. */
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
    return { columns: Object.keys(entity.columns), change: change(entity, 'insert', null, withoutRaw(entity, after), after, cause) }
  }
  const changed = Object.keys(entity.columns).filter((column) => !sameJson(before[column] ?? null, after[column] ?? null))
  if (changed.length === 0) return null
  const logged = changed.filter((column) => entity.columns[column] !== 'raw')
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

function withoutRaw(entity: Entity, row: Row): Row {
  return pick(
    row,
    Object.keys(entity.columns).filter((column) => entity.columns[column] !== 'raw'),
  )
}

function pick(row: Row, columns: readonly string[]): Row {
  return Object.fromEntries(columns.map((column) => [column, told(row[column] ?? null)]))
}
