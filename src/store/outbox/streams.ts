import { type RawBuilder, sql } from 'kysely'
import type { Query, Tx } from '../engine/db.ts'
import { dbTime, rowLock, valuesTable } from '../engine/sql.ts'
import type { StreamBlock } from '../schema/push.ts'

/**
 * The table `sync_push_streams` contains streams with ready rows, and streams that a dead or unknown row blocks
 * (`held_by`). A transaction that adds or removes ready rows locks the stream first. Otherwise another transaction
 * could delete the stream as empty.
 */

/** Identifies a stream: the changes of one submission for one destination. */
export interface StreamKey {
  readonly destination: string
  readonly account: string
  readonly stream: string
}

export function streamText({ destination, account, stream }: StreamKey): string {
  return `${destination} ${account} ${stream}`
}

export function streamsOf(rows: readonly StreamKey[]): StreamKey[] {
  return [...new Map(rows.map((row) => [streamText(row), row])).values()]
}

/**
 * Creates missing streams, due immediately. Locks new and existing streams.
 * @param keys distinct keys.
 */
export async function openStreams(tx: Tx, keys: readonly StreamKey[]): Promise<void> {
  if (keys.length === 0) return
  // The update changes nothing, but locks the existing rows in the order of their keys. All code locks in this order,
  // which avoids deadlocks.
  const kept = tx.kind === 'sqlite' ? sql`do nothing` : sql`(destination, account, stream) do update set due_at = sync_push_streams.due_at`
  await tx.run(sql`
    insert into sync_push_streams (destination, account, stream, due_at)
    select destination, account, stream, ${dbTime(tx)} from ${givenStreams(tx, keys)} where 1 = 1
    order by destination, account, stream on conflict ${kept}`)
}

export interface LockedStream extends StreamKey {
  readonly lease_token: string | null
  readonly blocked: StreamBlock | null
  readonly held_by: number | null
  /** 1 while a process has leased the stream and may be sending its rows; otherwise 0. */
  readonly in_flight: number
}

/** Locks the given streams in the order of their keys. Leaves out missing streams. */
export async function lockStreams(tx: Tx, keys: readonly StreamKey[]): Promise<LockedStream[]> {
  if (keys.length === 0) return []
  const lock = rowLock(tx, 'for update of l')
  return await tx.all(sql<LockedStream>`
    select l.destination, l.account, l.stream, l.lease_token, l.blocked, l.held_by,
      case when l.lease_token is not null and l.due_at > ${dbTime(tx)} then 1 else 0 end as in_flight
    from ${givenStreams(tx, keys)} join sync_push_streams l
      on l.destination = given.destination and l.account = given.account and l.stream = given.stream
    order by l.destination, l.account, l.stream ${lock}`)
}

/** Ends the leases of streams and makes the streams due immediately. Lock the streams first. */
export async function makeDue(tx: Tx, streams: readonly StreamKey[]): Promise<void> {
  await tx.run(sql`
    update sync_push_streams set lease_token = null, due_at = ${dbTime(tx)}
    where (destination, account, stream) in (select destination, account, stream from ${givenStreams(tx, streams)})`)
}

/** Deletes the given streams, except streams with ready rows and streams that a row blocks. Lock the streams first. */
export async function closeEmptyStreams(tx: Tx, keys: readonly StreamKey[]): Promise<void> {
  if (keys.length === 0) return
  await tx.run(sql`
    delete from sync_push_streams
    where (destination, account, stream) in (select destination, account, stream from ${givenStreams(tx, keys)})
      and held_by is null and not exists (
        select 1 from sync_outbox o where o.destination = sync_push_streams.destination and o.account = sync_push_streams.account
          and o.stream = sync_push_streams.stream and o.state = 'ready')`)
}

/** A table `given` of stream keys for a `from` clause. */
export function givenStreams(q: Pick<Query, 'kind'>, keys: readonly StreamKey[]): RawBuilder<unknown> {
  const rows = keys.map(({ destination, account, stream }) => ({ destination, account, stream }))
  return valuesTable(q, { destination: 'text', account: 'text', stream: 'text' }, rows)
}

/** Counts the blocked streams of a destination by reason. Uses an index. */
export async function countBlockedStreams(q: Query, destination: string): Promise<{ readonly unmapped: number; readonly held: number }> {
  const rows = await q.sql
    .selectFrom('sync_push_streams')
    .select((eb) => ['blocked', eb.fn.countAll<number>().as('n')])
    .where('destination', '=', destination)
    .where('blocked', 'is not', null)
    .groupBy('blocked')
    .execute()
  const count = (blocked: 'unmapped' | 'held') => rows.find((row) => row.blocked === blocked)?.n ?? 0
  return { unmapped: count('unmapped'), held: count('held') }
}
