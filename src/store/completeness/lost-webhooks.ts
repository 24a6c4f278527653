import { sql } from 'kysely'
import { msFromTime, type TimeText, timeFromMs } from '../../model/time.ts'
import type { Db, Query, Tx } from '../engine/db.ts'
import { timeValue } from '../engine/sql.ts'
import { findAccount } from '../reads/accounts.ts'
import { addCount, type HourCount, hourOf } from './arrival-counts.ts'
import { moveProgress, readProgress } from './progress.ts'

/** About how many records one transaction looks at. */
const STEP = 500
const MARK = 'lost_webhooks_mark'
/** The setting WEBHOOK_LOST_AFTER, for the view `completeness`. */
const LOST_AFTER = 'webhook_lost_after_ms'

/** Stores from when on a webhook counts as lost, for what readers are shown of each submission. */
export async function saveLostAfter(db: Db, lostAfterMs: number): Promise<void> {
  await db.write('lost-after', (tx) =>
    tx.sql
      .insertInto('sync_counters')
      .values({ account: '', name: LOST_AFTER, label: '', value: lostAfterMs })
      .onConflict((conflict) => conflict.columns(['account', 'name', 'label']).doUpdateSet({ value: lostAfterMs }))
      .execute(),
  )
}

/**
 * Counts, once each, the records that a feed showed first more than `lostAfterMs` ago and no webhook has announced since. Backfill does not
 * count, nor do events while the account's event deliveries cannot be read.
 * Progress is stored step by step; of several processes one makes each step.
 * @param lostAfterMs the setting WEBHOOK_LOST_AFTER.
 * @returns the counts of this step, and whether there may be more.
 */
export async function countLostWebhooks(
  db: Db,
  account: string,
  lostAfterMs: number,
): Promise<{ readonly lost: ReturnType<typeof totalsOf>; readonly more: boolean }> {
  // Records that a feed showed first up to this time have been looked at.
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

/** End of the next step. Records of one moment stay in the same step. */
async function nextMark(q: Query, account: string, mark: TimeText, ripe: TimeText): Promise<{ mark: TimeText; more: boolean } | null> {
  const rows = await q.sql
    .selectFrom('sync_arrivals')
    .select('first_at')
    .where('account', '=', account)
    .where('way', '=', 'feed')
    .where('first_at', '>', timeValue(q, mark) as never)
    .where('first_at', '<=', timeValue(q, ripe) as never)
    .orderBy('first_at')
    .limit(STEP)
    .execute()
  const last = rows.at(-1)
  return last ? { mark: last.first_at, more: rows.length === STEP } : null
}

/** No webhook has announced the record `seen`. */
const neverTold = sql`not exists (
  select 1 from sync_arrivals as announced
  where announced.account = seen.account and announced.entity = seen.entity and announced.submission_id = seen.submission_id
    and announced.record_id = seen.record_id and announced.way = 'webhook')`

/** By the hour in which they became known. */
async function hoursBetween(tx: Tx, account: string, after: TimeText, upTo: TimeText): Promise<HourCount[]> {
  const { rows } = await sql<HourCount>`
    select account, entity, hour, count(*) as n from (
      select account, entity, ${hourOf(tx, 'first_at')} as hour from sync_arrivals as seen
      where account = ${account} and way = 'feed' and first_at > ${timeValue(tx, after)} and first_at <= ${timeValue(tx, upTo)}
        and ${neverTold}) as lost
    group by account, entity, hour order by hour, entity`.execute(tx.sql)
  return rows.map((row) => ({ ...row, n: Number(row.n) }))
}

function totalsOf(hours: readonly HourCount[]) {
  const byEntity = Map.groupBy(hours, ({ entity }) => entity)
  return [...byEntity].map(([entity, counts]) => ({ entity, count: counts.reduce((sum, { n }) => sum + n, 0) }))
}

/** Ids of records that a feed showed first and no webhook has announced yet, without backfill. */
export async function unannounced(q: Query, account: string): Promise<string[]> {
  const { rows } = await sql<{ record_id: string }>`
    select record_id from sync_arrivals as seen where account = ${account} and way = 'feed' and ${neverTold}`.execute(q.sql)
  return rows.map((row) => row.record_id)
}
