import { sql } from 'kysely'
import type { Query } from '../engine/db.ts'
import { listOutbox, type OutboxEntry } from './queries.ts'

/** A row that failed: dead, of unknown outcome, or waiting for its next attempt. */
export type FailedRow = OutboxEntry & { readonly state: 'dead' | 'unknown' | 'retrying' }

/**
 * The newest rows of a destination that were given up, and those among its oldest waiting rows that failed before: the rows of a submission
 * go in order, so what failed stands in front.
 * @param limit rows looked at of each state.
 * @returns them, and whether there may be more.
 */
export async function failedRows(q: Query, destination: string, limit: number): Promise<{ rows: FailedRow[]; hasMore: boolean }> {
  const dead = await listOutbox(q, { destination, state: 'dead' }, limit)
  const unknown = await listOutbox(q, { destination, state: 'unknown' }, limit)
  const last = await lastAmongOldest(q, destination, limit)
  const retrying = last === null ? [] : await listOutbox(q, { destination, state: 'retrying', through: last.outboxId }, limit)
  const isFull = dead.length === limit || unknown.length === limit || (last?.isFull ?? false)
  return { rows: [...dead, ...unknown, ...retrying] as FailedRow[], hasMore: isFull }
}

/** Up to which number the oldest waiting rows are looked at; null when none wait. */
async function lastAmongOldest(q: Query, destination: string, limit: number) {
  const { rows } = await sql<{ outbox_id: number | null; n: number }>`
    select max(outbox_id) as outbox_id, count(*) as n from (
      select outbox_id from sync_outbox where destination = ${destination} and state = 'ready' order by outbox_id limit ${sql.lit(limit)}) as few`.execute(
    q.sql,
  )
  const [row] = rows
  return row === undefined || row.outbox_id === null ? null : { outboxId: Number(row.outbox_id), isFull: Number(row.n) === limit }
}
