import { type RawBuilder, sql } from 'kysely'
import { storableText } from '../../model/json.ts'
import { isIdRead, type OptionalRead } from '../../model/reads.ts'
import type { Db, Query, Tx } from '../engine/db.ts'
import { dbTime } from '../engine/sql.ts'
import type { ReadsOffTable } from '../schema/reads.ts'
import { claimedReads } from './claims.ts'
import { rank } from './reads.ts'

/** Number of due rows of each rank that one query searches. */
const LOOKED_AT = 1_000
/** Each time a read is due while its kind is off, the read is postponed by about this many ms. */
const PUT_OFF_MS = 86_400_000

export async function listReadsOff(q: Query, account?: string): Promise<ReadsOffTable[]> {
  const query = q.sql.selectFrom('sync_reads_off').selectAll().orderBy('account').orderBy('read')
  return await (account === undefined ? query : query.where('account', '=', account)).execute()
}

/** @returns the kinds of reads that are off now. Leaves out kinds that may be tried again now. */
export async function readsOffNow(q: Query, account: string): Promise<ReadonlySet<OptionalRead>> {
  const rows = await q.all(sql<{ read: OptionalRead }>`
    select read from sync_reads_off where account = ${account} and ${isOffNow(q)}`)
  return new Set(rows.map(({ read }) => read))
}

function isOffNow(q: Query): RawBuilder<unknown> {
  return sql`(retry_at is null or retry_at > ${dbTime(q)})`
}

/**
 * Switches off the kinds of reads that the settings exclude, and switches on kinds that the settings no longer exclude.
 * @param reads the excluded kinds.
 * @returns the kinds that were switched on.
 */
export async function setReadsOffBySettings(db: Db, account: string, reads: readonly OptionalRead[]): Promise<OptionalRead[]> {
  const stored = (await listReadsOff(db.read, account)).filter(({ cause }) => cause === 'settings').map(({ read }) => read)
  const again = stored.filter((read) => !reads.includes(read))
  const fresh = reads.filter((read) => !stored.includes(read))
  if (again.length + fresh.length === 0) return []
  await db.write('read-switch', async (tx) => {
    for (const read of again) await remove(tx, account, read, 'settings')
    for (const read of fresh) await put(tx, { account, read, cause: 'settings', reason: 'STATE_READS leaves it out', retryMs: null })
  })
  return again
}

/**
 * Switches off a kind of read because the service rejects it. If the kind is already off, postpones the next try. If
 * the settings exclude the kind, changes nothing.
 * @returns whether the kind was on.
 */
export async function switchReadOff(db: Db, account: string, read: OptionalRead, reason: string, retryMs: number): Promise<boolean> {
  return await db.write('read-switch', (tx) => put(tx, { account, read, cause: 'service', reason, retryMs }))
}

/**
 * Switches a kind of read on, after the service answered such a read. If the settings exclude the
 * kind, changes nothing.
 * @returns whether the kind was off because of the service.
 */
export async function switchReadOn(db: Db, account: string, read: OptionalRead): Promise<boolean> {
  return await db.write('read-switch', (tx) => remove(tx, account, read, 'service'))
}

/** @returns whether a read of this kind ever succeeded in the account. */
export async function wasEverRead(q: Query, account: string, read: OptionalRead): Promise<boolean> {
  return await q.exists(sql`select 1 from sync_reads where account = ${account} and read = ${read} and last_read_at is not null limit 1`)
}

/** Counts the given submissions whose last read of the requirements succeeded. */
export async function countSucceeding(q: Query, account: string, submissionIds: readonly string[]): Promise<number> {
  return await q.count(sql<{ n: number }>`
    select count(*) as n from sync_reads where account = ${account} and submission_id in (${sql.join(submissionIds)})
      and id = '' and read = 'requirements' and last_read_at is not null and failures + not_found = 0`)
}

/**
 * Postpones up to `limit` due reads of a kind that is off, by about a day. If the kind may be tried again now,
 * postpones none.
 * @returns the number of postponed reads.
 */
export async function putOffReads(db: Db, account: string, read: OptionalRead, limit: number): Promise<number> {
  const due = (q: Query) => firstDue(q, account, read)
  if (!(await db.read.exists(sql`select 1 from ${due(db.read)} limit 1`))) return 0
  return await db.write('read-put-off', async (tx) => {
    const isOff = sql`exists (select 1 from sync_reads_off as off where off.account = ${account} and off.read = ${read} and ${isOffNow(tx)})`
    const selection = sql`select account, submission_id, read, id from ${due(tx)} and ${isOff} limit ${sql.lit(limit)}`
    const later = isIdRead(read) ? rank.byId : rank.background
    const dueAt = dbTime(tx, PUT_OFF_MS * (1 - 0.1 * tx.clock.random()))
    return await claimedReads.change(tx, selection, sql`rank = ${sql.lit(later)}, due_at = ${dueAt}`)
  })
}

/**
 * SQL for the due reads of one kind. Searches the first 1,000 due reads of each rank. After the found reads are
 * postponed, the next call finds others.
 */
function firstDue(q: Query, account: string, read: OptionalRead): RawBuilder<unknown> {
  const ofRank = (one: number) => sql`select * from (select account, submission_id, read, id, lease_token from sync_reads
    where account = ${account} and rank = ${sql.lit(one)} and due_at <= ${dbTime(q)} order by due_at limit ${sql.lit(LOOKED_AT)})
    as ${sql.raw(`rank_${one}`)}`
  const ranks = isIdRead(read) ? [rank.byId] : [rank.background, rank.routine]
  return sql`(${sql.join(ranks.map(ofRank), sql` union all `)}) as due where read = ${read} and lease_token is null`
}

/**
 * Makes the unclaimed reads of a kind due now, for up to `limit` keys after `after`. The key of a read by id is the id.
 * The key of other reads is the submission.
 * @param after the last key of the previous step; '' for the first step.
 * @returns the last key of this step; null if no keys remain.
 */
export async function bringBackReads(db: Db, account: string, read: OptionalRead, after: string, limit: number): Promise<string | null> {
  const [key, isOfKind] = isIdRead(read) ? [sql`id`, sql`submission_id = '' and read = ${read}`] : [sql`submission_id`, sql`read = ${read}`]
  const rows = await db.read.all(sql<{ key: string }>`
    select ${key} as key from sync_reads where account = ${account} and ${isOfKind} and ${key} > ${after}
    order by ${key} limit ${sql.lit(limit)}`)
  if (rows.length > 0) {
    const keys = rows.map((row) => row.key)
    await db.write('read-put-off', (tx) =>
      tx.run(sql`
        update sync_reads set due_at = ${dbTime(tx)}
        where account = ${account} and ${isOfKind} and ${key} in (${sql.join(keys)})
          and lease_token is null and due_at > ${dbTime(tx)}`),
    )
  }
  return rows.length < limit ? null : (rows.at(-1)?.key ?? null)
}

interface Off {
  readonly account: string
  readonly read: OptionalRead
  readonly cause: ReadsOffTable['cause']
  readonly reason: string
  readonly retryMs: number | null
}

/**
 * Stores that a kind of read is off. The cause `settings` replaces the cause `service`, but not the reverse.
 * @returns whether the kind was on.
 */
async function put(tx: Tx, { account, read, cause, reason, retryMs }: Off): Promise<boolean> {
  const retryAt = retryMs === null ? null : dbTime(tx, retryMs)
  const updated = await tx.run(sql`
    insert into sync_reads_off (account, read, cause, reason, since, retry_at)
    values (${account}, ${read}, ${cause}, ${storableText(reason)}, ${dbTime(tx)}, ${retryAt})
    on conflict (account, read) do nothing`)
  if (updated > 0) return true
  await tx.run(sql`
    update sync_reads_off set cause = ${cause}, reason = ${storableText(reason)}, retry_at = ${retryAt},
      since = case when cause = ${cause} then since else ${dbTime(tx)} end
    where account = ${account} and read = ${read} and (cause = 'service' or ${cause} = 'settings')`)
  return false
}

/**
 * Deletes the row that says that a kind of read is off for this cause.
 * @returns whether there was such a row.
 */
async function remove(tx: Tx, account: string, read: OptionalRead, cause: Off['cause']): Promise<boolean> {
  const query = tx.sql.deleteFrom('sync_reads_off').where('account', '=', account).where('read', '=', read).where('cause', '=', cause)
  return (await query.executeTakeFirst()).numDeletedRows > 0n
}
