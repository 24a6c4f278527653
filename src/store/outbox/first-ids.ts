import { type RawBuilder, sql } from 'kysely'
import type { Query } from '../engine/db.ts'
import { givenLanes, type LaneKey } from './lanes.ts'

/**
 * Limit for the changes of one claim, in bytes. They are parsed at once, which blocks the event loop, and rows of several claims wait in
 * memory.
 */
const CLAIM_BYTES = 2 << 20

/** @returns the ids of the first `limit` ready rows of each lane, of all together the oldest up to the byte limit. `isFull`: some were left out. */
export async function firstIds(
  q: Query,
  lanes: readonly LaneKey[],
  limit: number,
): Promise<{ readonly ids: readonly number[]; readonly isFull: boolean }> {
  const measured = await measureRows(q, lanes, limit)
  const ids = oldestWithin(measured, CLAIM_BYTES)
  return { ids, isFull: ids.length < measured.length }
}

/** A row and the size of its change in bytes. */
interface Measured {
  readonly outbox_id: number
  readonly bytes: number
}

/** Written differently for each database, so that both go from lane to rows by the index, however many rows there are. */
async function measureRows(q: Query, lanes: readonly LaneKey[], limit: number): Promise<readonly Measured[]> {
  const given = givenLanes(q, lanes)
  const ofLane = (columns: string) => sql`
    select ${sql.raw(columns)} from sync_outbox i where i.destination = given.destination and i.account = given.account
      and i.lane = given.lane and i.state = 'ready' order by i.outbox_id limit ${sql.lit(limit)}`
  const first =
    q.kind === 'postgres'
      ? sql`${given} cross join lateral (${ofLane('*')}) as o`
      : sql`${given} cross join sync_outbox o on o.outbox_id in (${ofLane('i.outbox_id')})`
  const bytes = sql.join(
    ['c.before', 'c.after', 'o.snapshot', 'o.progress'].map((column) => bytesOf(q, sql.ref(column))),
    sql` + `,
  )
  const { rows } = await sql<Measured>`
    select o.outbox_id, ${bytes} as bytes from ${first} left join changes c on c.seq = o.seq and o.snapshot is null
    order by o.outbox_id`.execute(q.sql)
  return rows
}

/** @returns the ids of the first rows that fit into `limit` bytes together; at least one if there is any. */
function oldestWithin(rows: readonly Measured[], limit: number): number[] {
  let bytes = 0
  const tooMany = rows.findIndex((row, position) => {
    bytes += row.bytes
    return position > 0 && bytes > limit
  })
  return rows.slice(0, tooMany === -1 ? rows.length : tooMany).map((row) => row.outbox_id)
}

/** Length of a value as text, without reading it where the database knows its size. */
function bytesOf(q: Query, column: RawBuilder<unknown>): RawBuilder<unknown> {
  if (q.kind === 'sqlite') return sql`coalesce(octet_length(${column}), 0)`
  return sql`coalesce(case when pg_column_size(${column}) < 2000 then pg_column_size(${column}) else octet_length(${column}::text) end, 0)`
}
