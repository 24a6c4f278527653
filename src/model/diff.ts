import type { Change, Operation } from './change.ts'
import { columnsWhere, type Entity, isInChangeLog, type Row } from './entity.ts'
import { sameJson } from './json.ts'
import { stableLink } from './links.ts'
import { sameRaw } from './merge.ts'
import type { Cause } from './records.ts'
import { entityIdOf } from './row-key.ts'

/** How a new row differs from the stored row. */
export interface RowDiff {
  readonly columns: readonly string[]
  /** The change to log. Null if only volatile columns, `raw`, and the query or fragment of links differ. */
  readonly change: Change | null
  /** False if only volatile columns and the query or fragment of links differ. */
  readonly isReported: boolean
}

/**
 * Compares a stored row with the new row.
 * @param before null if no row is stored.
 * @returns null if nothing has to be written.
 */
export function diffRow(entity: Entity, before: Row | null, after: Row, cause: Cause): RowDiff | null {
  if (before === null) {
    return {
      columns: Object.keys(entity.columns),
      change: change(entity, 'insert', null, pick(after, columnsWhere(entity, isInChangeLog)), after, cause),
      isReported: true,
    }
  }
  const changed = Object.keys(entity.columns).filter((column) => !sameJson(before[column] ?? null, after[column] ?? null))
  if (changed.length === 0) return null
  const news = changed.filter((column) => entity.fields[column]?.volatile !== true && !isSameLink(entity, column, before, after))
  const logged = news.filter((column) => isLogged(entity, column))
  if (logged.length === 0) return { columns: changed, change: null, isReported: news.length > 0 }
  const operation = logged.includes('gone_at') && after['gone_at'] !== null ? 'gone' : 'update'
  return { columns: changed, change: change(entity, operation, pick(before, logged), pick(after, logged), after, cause), isReported: true }
}

/** True if the values of a link column differ only in the query or fragment of links. */
function isSameLink({ fields }: Entity, column: string, before: Row, after: Row): boolean {
  const [{ link = false, kind = null } = {}, a, b] = [fields[column], before[column], after[column]]
  if (!link || typeof a !== 'string' || typeof b !== 'string') return false
  return kind === 'raw' ? sameRaw(a, b) : stableLink(a) === stableLink(b)
}

/**
 * @returns a change for a row in which only `raw` differs. This change is reported, but never logged. Its `before` and
 * `after` contain null instead of the text of `raw`.
 */
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
  return Object.fromEntries(columns.map((column) => [column, row[column] ?? null]))
}
