import { sql } from 'kysely'
import type { Row } from '../../model/entity.ts'
import type { Query } from '../engine/db.ts'

/** A row of the change log. */
export interface LoggedChange {
  readonly seq: number
  readonly account: string
  readonly submission_id: string | null
  readonly entity: string
  readonly entity_id: string
  readonly operation: string
  readonly cause: string
  readonly after: Row | null
}

/** The changes behind `seq`, in order, up to `limit`. Going on from the last one never misses any (invariant 9). */
export async function changesAfter(q: Query, seq: number, limit: number): Promise<LoggedChange[]> {
  const { rows } = await sql<LoggedChange>`
    select seq, account, submission_id, entity, entity_id, operation, cause, after from changes
    where seq > ${seq} order by seq limit ${sql.lit(limit)}`.execute(q.sql)
  return rows
}
