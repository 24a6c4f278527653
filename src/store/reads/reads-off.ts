import { type RawBuilder, sql } from 'kysely'
import { storableText } from '../../model/json.ts'
import { isIdRead, type OptionalRead } from '../../model/reads.ts'
import type { Db, Query, Tx } from '../engine/db.ts'
import { dbTime } from '../engine/sql.ts'
import type { ReadsOffTable } from '../schema/reads.ts'
import { claimedReads } from './claims.ts'
import { claimedIds } from './known-ids.ts'
import { rank } from './reads.ts'

/** Rows that are looked through for those of a kind. */
const LOOKED_AT = 1_000
/** How long a read that is off stays away from each submission, in milliseconds. It is off for longer by coming due and being put off again. */
const PUT_OFF_MS = 86_400_000

/** Reads that are off, of all accounts or of one. */
export async function listReadsOff(q: Query, account?: string): Promise<ReadsOffTable[]> {
  const query = q.sql.selectFrom('sync_reads_off').selectAll().orderBy('account').orderBy('read')
  return await (account === undefined ? query : query.where('account', '=', account)).execute()
}

/** @returns the reads that must not be made now: those that are off, but for one that is to be tried again. */
export async function readsOffNow(q: Query, account: string): Promise<ReadonlySet<OptionalRead>> {
  const { rows } = await sql<{ read: OptionalRead }>`
    select read from sync_reads_off where account = ${account} and ${isOffNow(q)}`.execute(q.sql)
  return new Set(rows.map(({ read }) => read))
}

function isOffNow(q: Query): RawBuilder<unknown> {
  return sql`(retry_at is null or retry_at > ${dbTime(q)})`
}

/** Makes the reads that the settings leave out those that are off for that reason. @returns which were, and are no longer. */
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
 * Switches off a read that the service refuses, or postpones its next attempt. A read that the settings leave out keeps that reason.
 * @returns whether the read was on before.
 */
export async function switchReadOff(db: Db, account: string, read: OptionalRead, reason: string, retryMs: number): Promise<boolean> {
  return await db.write('read-switch', (tx) => put(tx, { account, read, cause: 'service', reason, retryMs }))
}

/** Switches a read on again after the service answered it. @returns whether it was off. */
export async function switchReadOn(db: Db, account: string, read: OptionalRead): Promise<boolean> {
  return await db.write('read-switch', (tx) => remove(tx, account, read, 'service'))
}

/** Whether a read was ever made to its end, for any submission of the account. */
export async function wasEverRead(q: Query, account: string, read: OptionalRead): Promise<boolean> {
  const [table, kind] = isIdRead(read) ? ['sync_known_ids', 'kind'] : ['sync_reads', 'read']
  const { rows } = await sql`
    select 1 from ${sql.table(table)} where account = ${account} and ${sql.ref(kind)} = ${read} and last_read_at is not null limit 1`.execute(
    q.sql,
  )
  return rows.length > 0
}

/** @returns how many of the submissions have their requirements view read without failure. */
export async function countSucceeding(q: Query, account: string, submissionIds: readonly string[]): Promise<number> {
  const { rows } = await sql<{ n: number }>`
    select count(*) as n from sync_reads where account = ${account} and submission_id in (${sql.join(submissionIds)})
      and read = 'requirements' and last_read_at is not null and failures + not_found = 0`.execute(q.sql)
  return Number(rows[0]?.n)
}

/**
 * Makes the reads of a kind that are due, and it is off, wait for a day, at most `limit` of them. None is touched once the kind is to be tried
 * again: whoever saw it off a moment ago would put off its trial.
 * @returns how many there were.
 */
export async function putOffReads(db: Db, account: string, read: OptionalRead, limit: number): Promise<number> {
  const due = (q: Query) => firstDue(q, account, read)
  if ((await sql`select 1 from ${due(db.read)} limit 1`.execute(db.read.sql)).rows.length === 0) return 0
  return await db.write('read-put-off', async (tx) => {
    const keys = sql.raw(isIdRead(read) ? 'account, kind, id' : 'account, submission_id, read')
    const isOff = sql`exists (select 1 from sync_reads_off as off where off.account = ${account} and off.read = ${read} and ${isOffNow(tx)})`
    const putOff = sql`due_at = ${dbTime(tx, PUT_OFF_MS * (1 - 0.1 * tx.clock.random()))}`
    const selection = sql`select ${keys} from ${due(tx)} and ${isOff} limit ${sql.lit(limit)}`
    if (isIdRead(read)) return await claimedIds.change(tx, selection, putOff)
    return await claimedReads.change(tx, selection, sql`rank = ${sql.lit(rank.background)}, ${putOff}`)
  })
}

/** Those of a kind among the reads that are claimed next. The others come to the front when these are gone. */
function firstDue(q: Query, account: string, read: OptionalRead): RawBuilder<unknown> {
  const first = (which: RawBuilder<unknown>) =>
    sql`where account = ${account} and ${which} due_at <= ${dbTime(q)} order by due_at limit ${sql.lit(LOOKED_AT)}`
  if (isIdRead(read))
    return sql`(select account, kind, id, lease_token from sync_known_ids ${first(sql``)}) as due where kind = ${read} and lease_token is null`
  const ofRank = (one: number) => sql`select * from (select account, submission_id, read, lease_token from sync_reads
    ${first(sql`rank = ${sql.lit(one)} and`)}) as ${sql.raw(`rank_${one}`)}`
  return sql`(${ofRank(rank.background)} union all ${ofRank(rank.routine)}) as due where read = ${read} and lease_token is null`
}

/**
 * Makes what was put off due now, a step at a time.
 * @param after the last submission or id of the previous step; '' to begin.
 * @returns the last one of this step, or null when there are no more.
 */
export async function bringBackReads(db: Db, account: string, read: OptionalRead, after: string, limit: number): Promise<string | null> {
  const [table, kind, key] = isIdRead(read) ? ['sync_known_ids', 'kind', 'id'] : ['sync_reads', 'read', 'submission_id']
  const { rows } = await sql<{ key: string }>`
    select ${sql.ref(key)} as key from ${sql.table(table)}
    where account = ${account} and ${sql.ref(kind)} = ${read} and ${sql.ref(key)} > ${after}
    order by ${sql.ref(key)} limit ${sql.lit(limit)}`.execute(db.read.sql)
  if (rows.length > 0) {
    const keys = rows.map((row) => row.key)
    await db.write('read-put-off', (tx) =>
      sql`
        update ${sql.table(table)} set due_at = ${dbTime(tx)}
        where account = ${account} and ${sql.ref(kind)} = ${read} and ${sql.ref(key)} in (${sql.join(keys)})
          and lease_token is null and due_at > ${dbTime(tx)}`.execute(tx.sql),
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

/** The settings override the service, never the other way. @returns whether the read was on before. */
async function put(tx: Tx, { account, read, cause, reason, retryMs }: Off): Promise<boolean> {
  const retryAt = retryMs === null ? null : dbTime(tx, retryMs)
  const { numAffectedRows } = await sql`
    insert into sync_reads_off (account, read, cause, reason, since, retry_at)
    values (${account}, ${read}, ${cause}, ${storableText(reason)}, ${dbTime(tx)}, ${retryAt})
    on conflict (account, read) do nothing`.execute(tx.sql)
  if (Number(numAffectedRows) > 0) return true
  await sql`
    update sync_reads_off set cause = ${cause}, reason = ${storableText(reason)}, retry_at = ${retryAt},
      since = case when cause = ${cause} then since else ${dbTime(tx)} end
    where account = ${account} and read = ${read} and (cause = 'service' or ${cause} = 'settings')`.execute(tx.sql)
  return false
}

/** @returns whether the read was off for that cause. */
async function remove(tx: Tx, account: string, read: OptionalRead, cause: Off['cause']): Promise<boolean> {
  const query = tx.sql.deleteFrom('sync_reads_off').where('account', '=', account).where('read', '=', read).where('cause', '=', cause)
  return (await query.executeTakeFirst()).numDeletedRows > 0n
}
