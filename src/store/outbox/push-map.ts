import { sql } from 'kysely'
import { storableText } from '../../model/json.ts'
import type { Db, Query, Tx } from '../engine/db.ts'
import { lockNamed } from '../engine/locks.ts'
import { wake } from '../engine/notify.ts'
import { dbTime } from '../engine/sql.ts'
import { givenStreams, lockStreams, type StreamKey, streamsOf, streamText } from './streams.ts'

/** The client, and optionally the policy, of a submission in a destination's AMS. */
export interface MappingRow {
  readonly destination: string
  readonly account: string
  readonly submissionId: string
  readonly client: string
  readonly policy: string | null
  readonly fields: Readonly<Record<string, string>>
}

/** Mappings stored per transaction. A larger number would make a running `serve` wait longer. */
const STEP = 200

/** Condition: row `m` of `push_map` has a client that isn't blank. */
export const namesClient = sql<boolean>`trim(m.client) <> ''`

const isOther = sql<boolean>`
  push_map.client <> excluded.client or push_map.policy is distinct from excluded.policy or push_map.fields is distinct from excluded.fields`

/**
 * Stores mappings and unblocks the streams that waited for a mapping. Uses several transactions. If a transaction
 * fails, the mappings of earlier transactions stay stored.
 * @param via where the mappings come from: `import`, `command`, `admin`, or `lookup`.
 */
export async function storeMappings(db: Db, rows: readonly MappingRow[], via: string): Promise<void> {
  const distinct = new Map(rows.map((row) => [streamText(streamOf(row)), row]))
  const all = [...distinct.keys()].sort().flatMap((key) => distinct.get(key) ?? [])
  for (let from = 0; from < all.length; from += STEP) await storeStep(db, all.slice(from, from + STEP), via)
}

async function storeStep(db: Db, rows: readonly MappingRow[], via: string): Promise<void> {
  await db.write('push-map', async (tx) => {
    await lockMappings(tx)
    for (const row of rows) {
      const fields = Object.fromEntries(Object.entries(row.fields).map(([key, value]) => [storableText(key), storableText(value)]))
      const mapping = {
        client: storableText(row.client),
        policy: row.policy === null ? null : storableText(row.policy),
        fields: JSON.stringify(fields),
        mapped_at: dbTime(tx),
        mapped_via: via,
      }
      await tx.sql
        .insertInto('push_map')
        .values({ destination: row.destination, account: row.account, submission_id: row.submissionId, ...mapping })
        .onConflict((conflict) => conflict.columns(['destination', 'account', 'submission_id']).doUpdateSet(mapping).where(isOther))
        .execute()
    }
    await unblock(tx, rows.map(streamOf))
  })
}

/**
 * Checks up to `limit` unmapped streams after `after`. Unblocks a stream if its submission now has a mapping, even if a
 * person wrote the mapping into the table.
 * @param after the last checked stream; null for the first call.
 * @param isNeeded false if the settings no longer require mappings. Then all checked streams are unblocked.
 * @returns the last checked stream; null if there are no more streams to check.
 */
export async function releaseMappedStreams(
  db: Db,
  destination: string,
  after: StreamKey | null,
  limit: number,
  isNeeded = true,
): Promise<StreamKey | null> {
  const behind = after === null ? sql`` : sql`and (account, stream) > (${after.account}, ${after.stream})`
  const rows = await db.read.all(sql<StreamKey & { mapped: number }>`
    select l.destination, l.account, l.stream, case when m.client is null then 0 else 1 end as mapped
    from (
      select destination, account, stream from sync_push_streams where destination = ${destination} and blocked = 'unmapped' ${behind}
      order by account, stream limit ${sql.lit(limit)}) as l
    left join push_map m on m.destination = l.destination and m.account = l.account and m.submission_id = l.stream and ${namesClient}
    order by l.account, l.stream`)
  const mapped = rows.filter((row) => !isNeeded || row.mapped === 1)
  for (let from = 0; from < mapped.length; from += STEP) {
    await db.write('push-map', async (tx) => {
      await lockMappings(tx)
      await unblock(tx, mapped.slice(from, from + STEP))
    })
  }
  return rows.length < limit ? null : (rows.at(-1) ?? null)
}

async function unblock(tx: Tx, streams: readonly StreamKey[]): Promise<void> {
  const waiting = (await lockStreams(tx, streams)).filter((stream) => stream.blocked === 'unmapped')
  for (const { destination, account, stream, in_flight } of waiting) {
    // If a stream is in flight, a process is looking up its client. Keep the end of the lease, so that the process can
    // store the result.
    await tx.run(sql`
      update sync_push_streams set blocked = null ${in_flight === 1 ? sql`` : sql`, due_at = ${dbTime(tx)}`}
      where destination = ${destination} and account = ${account} and stream = ${stream}`)
  }
  if (waiting.length > 0) wake(tx, 'outbox')
}

/** Locks all mappings until the transaction ends. To avoid deadlocks, call this before locking streams. */
export async function lockMappings(tx: Tx): Promise<void> {
  await lockNamed(tx, 'push-map')
}

/** @returns the streams whose submission has a mapping, each as the text that `streamText` returns. */
export async function mappedStreams(q: Query, streams: readonly StreamKey[]): Promise<ReadonlySet<string>> {
  if (streams.length === 0) return new Set()
  const rows = await q.all(sql<StreamKey>`
    select given.destination, given.account, given.stream
    from ${givenStreams(q, streamsOf(streams))} join push_map m
      on m.destination = given.destination and m.account = given.account and m.submission_id = given.stream and ${namesClient}`)
  return new Set(rows.map(streamText))
}

function streamOf({ destination, account, submissionId }: MappingRow): StreamKey {
  return { destination, account, stream: submissionId }
}

export interface MappingFilter {
  readonly destination?: string | undefined
  readonly account?: string | undefined
  readonly submissionId?: string | undefined
  /** Only mappings that sort after this account and submission. Requires `destination`. */
  readonly after?: { readonly account: string; readonly submissionId: string } | undefined
}

export async function listMappings(q: Query, filter: MappingFilter, limit: number) {
  let query = q.sql.selectFrom('push_map').selectAll()
  if (filter.destination !== undefined) query = query.where('destination', '=', filter.destination)
  if (filter.account !== undefined) query = query.where('account', '=', filter.account)
  if (filter.submissionId !== undefined) query = query.where('submission_id', '=', filter.submissionId)
  if (filter.after !== undefined)
    query = query.where(sql<boolean>`(account, submission_id) > (${filter.after.account}, ${filter.after.submissionId})`)
  const rows = await query.orderBy('destination').orderBy('account').orderBy('submission_id').limit(limit).execute()
  return rows.map((row) => ({ ...row, fields: (row.fields ?? {}) as Record<string, string> }))
}
