import { sql } from 'kysely'
import type { Place } from '../../model/facts.ts'
import { feeds, type ReadKind } from '../../model/reads.ts'
import type { TimeText } from '../../model/time.ts'
import type { Db, Query } from '../engine/db.ts'
import { dbTime } from '../engine/sql.ts'
import { sweep } from './accounts.ts'
import { rank, wakeReads } from './reads.ts'

/** How many submissions of the account were ever read, counted no further than `limit`. */
export async function countReadSubmissions(q: Query, account: string, limit: number): Promise<number> {
  return (await sampleReadSubmissions(q, account, limit)).length
}

/** When the submission was read, by one kind of read, that was read the longest ago, or the most recently; null when none was. */
export async function oldestOrNewestRead(q: Query, account: string, read: ReadKind, order: 'asc' | 'desc'): Promise<TimeText | null> {
  const row = await q.sql
    .selectFrom('sync_reads')
    .select('last_read_at')
    .where('account', '=', account)
    .where('read', '=', read)
    .where('last_read_at', 'is not', null)
    .orderBy('last_read_at', order)
    .limit(1)
    .executeTakeFirst()
  return row?.last_read_at ?? null
}

/** Some submissions of the account that were read before, the most recently read first. */
export async function sampleReadSubmissions(q: Query, account: string, limit: number): Promise<string[]> {
  const rows = await q.sql
    .selectFrom('sync_reads')
    .select('submission_id')
    .where('account', '=', account)
    .where('read', '=', 'events')
    .where('last_read_at', 'is not', null)
    .orderBy('last_read_at', 'desc')
    .limit(limit)
    .execute()
  return rows.map((row) => row.submission_id)
}

/** Some submissions of the account that somebody has heard of since they were read: those that deliveries named, and some never read. */
export async function sampleUnreadSubmissions(q: Query, account: string, limit: number): Promise<string[]> {
  const some = q.sql.selectFrom('sync_reads').select('submission_id').where('account', '=', account).limit(limit)
  const woken = await some.where('rank', '=', rank.live).where('read', '=', 'thread').orderBy('due_at', 'desc').execute()
  const never = await some.where('read', '=', 'events').where('last_read_at', 'is', null).execute()
  return [...woken, ...never].map((row) => row.submission_id)
}

/** Reads in one transaction: an account that is old has many of submissions that are gone. */
const FORGIVEN = 200

/**
 * Has everything that was "not found" read again soon, and takes back what is not believed yet: it was the account's fault, not the
 * submissions'. Of what is believed the count stays, so that finding it takes the mark back. In steps, so that no transaction is long; the
 * account must be stopped, so that no more of them come than are forgiven.
 */
export async function resetMisses(db: Db, account: string): Promise<void> {
  const believed = sql`exists (select 1 from submissions as s
    where s.account = sync_reads.account and s.submission_id = sync_reads.submission_id and s.unreachable_since is not null)`
  for (let forgiven = 1; forgiven > 0; ) {
    forgiven = await db.write('misses-forgiven', async (tx) => {
      const lock = tx.kind === 'postgres' ? sql`for update` : sql``
      const { numAffectedRows } = await sql`
        update sync_reads set misses = case when ${believed} then misses else 0 end, rank = ${sql.lit(rank.routine)}, due_at = ${dbTime(tx)}
        where (account, submission_id, read) in (
          select account, submission_id, read from sync_reads
          where account = ${account} and rank = ${sql.lit(rank.failing)} and misses > 0 and lease_token is null
          order by due_at limit ${sql.lit(FORGIVEN)} ${lock})`.execute(tx.sql)
      return Number(numAffectedRows ?? 0)
    })
  }
}

/**
 * Looks at the next `limit` submissions behind `after`, in the order of their ids, and wakes the feeds of those that were active since
 * `activeSince`. That is no activity of theirs: sweeps would keep them active for ever.
 * @returns the last id that was looked at, or null when there are no more: steps, so that no look and no transaction is long.
 */
export async function sweepStep(db: Db, account: string, after: string, activeSince: TimeText, limit: number): Promise<string | null> {
  const rows = await db.read.sql
    .selectFrom('sync_reads')
    .select(['submission_id', 'active_at'])
    .where('account', '=', account)
    .where('read', '=', 'events')
    .where('submission_id', '>', after)
    .orderBy('submission_id')
    .limit(limit)
    .execute()
  const active = rows.filter(({ active_at }) => active_at !== null && active_at >= activeSince)
  const wakes = active.flatMap(({ submission_id }) => feeds.map((read) => ({ account, submissionId: submission_id, read })))
  if (wakes.length > 0) await db.write('sweep', (tx) => wakeReads(tx, wakes, { delayMs: 0, moved: false }))
  return rows.length < limit ? null : (rows.at(-1)?.submission_id ?? null)
}

/**
 * Takes the account's wish for a sweep, if there is one and the last sweep is `everyMs` ago. Until `endSweep` it counts as begun, so that a
 * sweep whose process was killed is taken again, as late as a new one would be.
 */
export async function claimSweep(db: Db, account: string, everyMs: number): Promise<boolean> {
  const wanted = await db.read.sql
    .selectFrom('sync_accounts')
    .select('account')
    .where('account', '=', account)
    .where('sweep_wanted', '<>', sweep.none)
    .executeTakeFirst()
  if (!wanted) return false
  return db.write('sweep-take', async (tx) => {
    const result = await tx.sql
      .updateTable('sync_accounts')
      .set({ sweep_wanted: sweep.begun, swept_at: dbTime(tx) })
      .where('account', '=', account)
      .where('sweep_wanted', '<>', sweep.none)
      .where((eb) => eb.or([eb('swept_at', 'is', null), eb('swept_at', '<=', dbTime(tx, -everyMs))]))
      .executeTakeFirst()
    return result.numUpdatedRows > 0n
  })
}

/** The sweep was made to its end. A wish that came meanwhile stays. */
export async function endSweep(db: Db, account: string): Promise<void> {
  await db.write('sweep-end', (tx) =>
    tx.sql
      .updateTable('sync_accounts')
      .set({ sweep_wanted: sweep.none })
      .where('account', '=', account)
      .where('sweep_wanted', '=', sweep.begun)
      .execute(),
  )
}

/** Why a read failed the last time it was made; null when it did not. */
export async function readError(q: Query, place: Place, read: ReadKind): Promise<string | null> {
  const row = await q.sql
    .selectFrom('sync_reads')
    .select('error')
    .where('account', '=', place.account)
    .where('submission_id', '=', place.submissionId)
    .where('read', '=', read)
    .executeTakeFirst()
  return row?.error ?? null
}
