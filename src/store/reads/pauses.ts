import { sql } from 'kysely'
import { storableText } from '../../model/json.ts'
import { msFromTime, type TimeText } from '../../model/time.ts'
import type { Db, Query } from '../engine/db.ts'
import { dbTime } from '../engine/sql.ts'

/** A longer pause is told to operators, and commands refuse instead of waiting for its end. */
export const LONG_PAUSE_MS = 60_000

/** A pause of an account that the service asked for, while it lasts. */
export interface StoredPause {
  readonly account: string
  readonly since: TimeText
  readonly until: TimeText
  /** Milliseconds left. */
  readonly ms: number
  /** Whether it is longer, from its beginning to its end, than `LONG_PAUSE_MS`. */
  readonly isLong: boolean
  /** The status and the request that it came with. */
  readonly reason: string
}

/** @returns the pauses in force, by the database's clock (invariant 14). */
export async function listPauses(q: Query): Promise<StoredPause[]> {
  const rows = await q.sql
    .selectFrom('sync_accounts')
    .select(['account', 'throttled_since as since', 'throttled_until as until', 'throttled_reason as reason', dbTime(q).as('now')])
    .where('throttled_until', '>', dbTime(q))
    .orderBy('account')
    .execute()
  return rows.flatMap(({ account, since, until, reason, now }) => {
    if (since === null || until === null) return []
    const [from, to] = [msFromTime(since), msFromTime(until)]
    return [{ account, since, until, ms: Math.max(0, to - msFromTime(now)), isLong: to - from > LONG_PAUSE_MS, reason: reason ?? '' }]
  })
}

/** @returns the pause of an account; null when none is in force. */
export async function findPause(q: Query, account: string): Promise<StoredPause | null> {
  return (await listPauses(q)).find((pause) => pause.account === account) ?? null
}

/** Keeps a pause that ends `ms` milliseconds from now, unless the account has a longer one. */
export async function savePause(db: Db, account: string, { ms, reason }: Pick<StoredPause, 'ms' | 'reason'>): Promise<void> {
  await db.write('account-pause', async (tx) => {
    const [now, until] = [dbTime(tx), dbTime(tx, ms)]
    await tx.sql
      .updateTable('sync_accounts')
      .set({
        throttled_since: sql<TimeText>`case when throttled_until > ${now} then throttled_since else ${now} end`,
        throttled_until: until,
        throttled_reason: storableText(reason),
      })
      .where('account', '=', account)
      .where((eb) => eb.or([eb('throttled_until', 'is', null), eb('throttled_until', '<', until)]))
      .execute()
  })
}
