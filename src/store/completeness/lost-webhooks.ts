import { sql } from 'kysely'
import { msFromTime, type TimeText, timeFromMs } from '../../model/time.ts'
import type { Db, Query, Tx } from '../engine/db.ts'
import { timeValue } from '../engine/sql.ts'
import { isUnannounced } from '../operators/alarm-queries.ts'
import { findAccount } from '../reads/accounts.ts'
import type { Columns } from '../schema/tables.ts'
import { addCount, type HourCount, hourOf } from './arrival-counts.ts'
import { moveProgress, readProgress } from './progress.ts'

/** Approximate number of records per transaction. */
const STEP = 500
const MARK = 'lost_webhooks_mark'
const LOST_AFTER = 'webhook_lost_after_ms'

/** Stores the setting WEBHOOK_LOST_AFTER in ms, for the view `completeness`. */
export async function saveLostAfter(db: Db, lostAfterMs: number): Promise<void> {
  await db.write('lost-after', (tx) =>
    tx.run(sql`
    insert into sync_counters (account, name, label, value) values ('', ${LOST_AFTER}, '', ${lostAfterMs})
    on conflict (account, name, label) do update set value = ${lostAfterMs}`),
  )
}

/**
 * Counts lost webhooks: records that a feed showed more than `lostAfterMs` ago and no webhook announced.
 * Counts each record once, in steps. Leaves out backfill. While the account's event deliveries are unreadable, also
 * leaves out events.
 * If several processes try the same step, only one of the processes counts the records.
 * @param lostAfterMs the setting WEBHOOK_LOST_AFTER, in ms.
 * @returns `lost`: the counts of this step, by table; `more`: true if uncounted records may remain.
 */
export async function countLostWebhooks(
  db: Db,
  account: string,
  lostAfterMs: number,
): Promise<{ readonly lost: ReturnType<typeof totalsOf>; readonly more: boolean }> {
  const mark = timeFromMs(await readProgress(db.read, account, MARK))
  const ripe = timeFromMs(db.clock.now() - lostAfterMs)
  const next = await nextMark(db.read, account, mark, ripe)
  if (next === null) return { lost: [], more: false }
  const unreadable = (await findAccount(db.read, account))?.events_unreadable_at != null
  return db.write('lost-webhooks', async (tx) => {
    if (!(await moveProgress(tx, account, MARK, msFromTime(mark), msFromTime(next.mark)))) return { lost: [], more: false }
    const hours = (await hoursBetween(tx, account, mark, next.mark)).filter(({ entity }) => !(unreadable && entity === 'market_events'))
    for (const hour of hours) await addCount(tx, hour, 'lost')
    return { lost: totalsOf(hours), more: next.more }
  })
}

/**
 * Finds the next step. Records with the same time are in the same step.
 * @returns `mark`: the time of the step's last record; `more`: true if uncounted records may remain after the step;
 * null if no uncounted record remains now.
 */
async function nextMark(q: Query, account: string, mark: TimeText, ripe: TimeText): Promise<{ mark: TimeText; more: boolean } | null> {
  const rows = await q.all(sql<Columns<'sync_arrivals', 'first_at'>>`
    select first_at from sync_arrivals where account = ${account} and way = 'feed' and first_at > ${timeValue(q, mark)}
    and first_at <= ${timeValue(q, ripe)} order by first_at limit ${STEP}`)
  const last = rows.at(-1)
  return last ? { mark: last.first_at, more: rows.length === STEP } : null
}

async function hoursBetween(tx: Tx, account: string, after: TimeText, upTo: TimeText): Promise<HourCount[]> {
  return await tx.all(sql<HourCount>`
    select account, entity, hour, count(*) as n from (
      select account, entity, ${hourOf(tx, 'first_at')} as hour from sync_arrivals as seen
      where account = ${account} and way = 'feed' and first_at > ${timeValue(tx, after)} and first_at <= ${timeValue(tx, upTo)}
        and ${isUnannounced}) as lost
    group by account, entity, hour order by hour, entity`)
}

function totalsOf(hours: readonly HourCount[]) {
  const byEntity = Map.groupBy(hours, ({ entity }) => entity)
  return [...byEntity].map(([entity, counts]) => ({ entity, count: counts.reduce((sum, { n }) => sum + n, 0) }))
}

/** Ids of records that a feed showed and no webhook announced. Leaves out backfill. */
export async function unannounced(q: Query, account: string): Promise<string[]> {
  const rows = await q.all(sql<{ record_id: string }>`
    select record_id from sync_arrivals as seen where account = ${account} and way = 'feed' and ${isUnannounced}`)
  return rows.map((row) => row.record_id)
}
