import { sql } from 'kysely'
import type { Change } from '../../model/change.ts'
import type { Row } from '../../model/entity.ts'
import type { SubmissionRef } from '../../model/observations.ts'
import type { TimeText } from '../../model/time.ts'
import type { Query } from '../engine/db.ts'
import { timeValue } from '../engine/sql.ts'
import type { Columns } from '../schema/tables.ts'

export interface LoggedChange
  extends Columns<'changes', 'seq' | 'account' | 'submission_id' | 'entity' | 'entity_id' | 'operation' | 'changed_at' | 'cause'> {
  readonly before: Row | null
  readonly after: Row | null
}

export interface ChangeFilter {
  readonly account?: string | undefined
  readonly submissionId?: string | undefined
  readonly entity?: string | undefined
  /** Last change number to include. */
  readonly until?: number
}

/**
 * Up to `limit` changes after number `seq`, in order.
 * A reader that continues after the last returned `seq` misses no change.
 */
export async function changesAfter(
  q: Query,
  seq: number,
  limit: number,
  { account, submissionId, entity, until }: ChangeFilter = {},
): Promise<LoggedChange[]> {
  const is = (column: string, value: string | undefined) => (value === undefined ? sql`` : sql`and ${sql.ref(column)} = ${value}`)
  return await q.all(sql<LoggedChange>`
    select seq, changed_at, account, submission_id, entity, entity_id, operation, cause, before, after from changes
    where seq > ${seq} ${until === undefined ? sql`` : sql`and seq <= ${until}`} ${is('account', account)} ${is('submission_id', submissionId)}
    ${is('entity', entity)}
    order by seq limit ${sql.lit(limit)}`)
}

/**
 * Rebuilds rows of a submission from the change log. The `entity_id` of each change in `of` names a row to rebuild.
 * @returns a map of the rows. A key has the form `<entity> <entity_id>`. A column is missing if retention removed all
 * changes of the column.
 */
export async function loggedRows(
  q: Query,
  { account, submissionId }: SubmissionRef,
  of: readonly Pick<Change, 'entity_id'>[],
): Promise<ReadonlyMap<string, Row>> {
  const found = new Map<string, Row>()
  if (of.length === 0) return found
  const ids = [...new Set(of.map(({ entity_id }) => entity_id))]
  const rows = await q.all(sql<Pick<LoggedChange, 'entity' | 'entity_id' | 'after'>>`
    select entity, entity_id, after from changes
    where account = ${account} and submission_id = ${submissionId} and entity_id in (${sql.join(ids)}) order by seq`)
  for (const { entity, entity_id, after } of rows) {
    const key = `${entity} ${entity_id}`
    found.set(key, { ...found.get(key), ...after })
  }
  return found
}

export interface ChangesBetween {
  readonly account: string
  readonly submissionId: string
  readonly cause: string
  readonly since: TimeText
  readonly until: TimeText
}

/**
 * Up to `limit` changes of a submission with one cause, from `since` to `until` (both inclusive), in order.
 * Leaves out `before` and `after`.
 */
export function changesBetween(q: Query, { account, submissionId, cause, since, until }: ChangesBetween, limit: number) {
  return q.all(sql<Columns<'changes', 'seq' | 'entity' | 'entity_id' | 'operation' | 'cause' | 'changed_at'>>`
    select seq, entity, entity_id, operation, cause, changed_at from changes where account = ${account}
    and submission_id = ${submissionId} and cause = ${cause} and changed_at >= ${timeValue(q, since)}
    and changed_at <= ${timeValue(q, until)} order by seq limit ${limit}`)
}
