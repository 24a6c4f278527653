import { sql } from 'kysely'
import type { ReadKind } from '../../model/reads.ts'
import { msFromTime, type TimeText, timeFromMs } from '../../model/time.ts'
import type { Db, Query, TableSpec } from '../engine/db.ts'
import { rowLock } from '../engine/sql.ts'
import { rank } from './reads.ts'

const NAME = 'longest_wait'
/** Longer than any lease and any backoff. */
const DAY_MS = 86_400_000

const waits: TableSpec = {
  table: 'sync_reads',
  key: ['account', 'submission_id', 'read'],
  columns: { account: 'text', submission_id: 'text', read: 'text', due_at: 'time', replay_due_at: 'time' },
}

/** The longest wait for a read and its replay, in milliseconds, when nothing has moved for `quietForMs`. */
export type MaxIntervals = (quietForMs: number, read: ReadKind) => { readonly pollMs: number; readonly replayMs: number }

/** The intervals to which the stored due times of an account were last adjusted: name to milliseconds. */
export async function checkedIntervals(q: Query, account: string): Promise<ReadonlyMap<string, number>> {
  const rows = await q.sql
    .selectFrom('sync_counters')
    .select(['label', 'value'])
    .where('account', '=', account)
    .where('name', '=', NAME)
    .execute()
  return new Map(rows.map((row) => [row.label, row.value]))
}

/** Saves the intervals to which the stored due times were adjusted. */
export async function saveCheckedIntervals(db: Db, account: string, settings: ReadonlyMap<string, number>): Promise<void> {
  await db.write('waits-checked', async (tx) => {
    for (const [label, value] of settings) {
      await tx.sql
        .insertInto('sync_counters')
        .values({ account, name: NAME, label, value })
        .onConflict((conflict) => conflict.columns(['account', 'name', 'label']).doUpdateSet({ value }))
        .execute()
    }
  })
}

interface Waiting {
  submission_id: string
  read: ReadKind
  rank: number
  failures: number
  lease_token: string | null
  due_at: TimeText
  active_at: TimeText | null
  replay_due_at: TimeText | null
}

/**
 * Brings due times forward that lie further off than allowed now, for up to `limit` reads in order of submission. Failing and
 * declined reads keep their backoff and reads in flight their lease, up to a day. Runs in steps, so that no transaction is long.
 * @param after the last submission of the previous step; '' to begin.
 * @returns the last submission of this step, or null when there are no more.
 */
export function shortenDueTimes(db: Db, account: string, after: string, limit: number, longest: MaxIntervals): Promise<string | null> {
  return db.write('waits-shortened', async (tx) => {
    const lock = rowLock(tx, 'for update')
    const { rows } = await sql<Waiting>`
      select submission_id, read, rank, failures, lease_token, due_at, active_at, replay_due_at from sync_reads
      where account = ${account} and submission_id > ${after} order by submission_id, read limit ${sql.lit(limit)} ${lock}`.execute(tx.sql)
    // The page may cut the last submission: leave it to the next step, unless it fills the page or ends the list.
    const last = rows.at(-1)?.submission_id
    const more = rows.length === limit && rows[0]?.submission_id !== last
    const whole = more ? rows.filter((row) => row.submission_id !== last) : rows
    const now = tx.clock.now()
    const shorter = whole.flatMap((row) => {
      const next = shorten(row, now, longest)
      return next === null ? [] : [{ account, submission_id: row.submission_id, read: row.read, ...next }]
    })
    await tx.updateMany(waits, ['due_at', 'replay_due_at'], shorter)
    return more ? (whole.at(-1)?.submission_id ?? null) : null
  })
}

function shorten(row: Waiting, now: number, longest: MaxIntervals): { due_at: TimeText; replay_due_at: TimeText | null } | null {
  const { pollMs, replayMs } = longest(row.active_at === null ? 0 : Math.max(0, now - msFromTime(row.active_at)), row.read)
  const backsOff = row.rank === rank.failing || (row.rank === rank.background && row.failures > 0)
  const free = row.lease_token === null && !backsOff
  const replay_due_at = row.replay_due_at === null ? null : earlier(row.replay_due_at, timeFromMs(now + replayMs))
  // A walk makes the replay, so it must not come later than a due replay.
  const due = earlier(row.due_at, timeFromMs(now + (free ? pollMs : DAY_MS)))
  const due_at = free ? earlier(due, replay_due_at ?? due) : due
  return due_at === row.due_at && replay_due_at === row.replay_due_at ? null : { due_at, replay_due_at }
}

function earlier(a: TimeText, b: TimeText): TimeText {
  return a < b ? a : b
}
