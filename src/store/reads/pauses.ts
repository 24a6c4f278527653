import { sql } from 'kysely'
import { storableText } from '../../model/json.ts'
import { msFromTime, type TimeText } from '../../model/time.ts'
import type { Db, Query } from '../engine/db.ts'
import { dbTime } from '../engine/sql.ts'

/**
 * A pause that lasts longer than this many ms is reported to operators, and commands fail instead of waiting
 * for its end.
 */
export const LONG_PAUSE_MS = 60_000

/** A pause that the service requested for an account and that hasn't ended. */
export interface StoredPause {
  readonly account: string
  readonly since: TimeText
  readonly until: TimeText
  readonly ms: number
  /** Whether the whole pause, from `since` to `until`, is longer than `LONG_PAUSE_MS`. */
  readonly isLong: boolean
  /** Which request the service answered with the pause, and the status of that answer. */
  readonly reason: string
}

/** Lists the pauses that haven't ended, by the database's clock. */
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

export async function findPause(q: Query, account: string): Promise<StoredPause | null> {
  return (await listPauses(q)).find((pause) => pause.account === account) ?? null
}

/** Stores a pause of `ms` from now. Does nothing if the stored pause ends later. */
export async function savePause(db: Db, account: string, { ms, reason }: Pick<StoredPause, 'ms' | 'reason'>): Promise<void> {
  await db.write('account-pause', async (tx) => {
    const [now, until] = [dbTime(tx), dbTime(tx, ms)]
    await tx.run(sql`
      update sync_accounts set throttled_since = case when throttled_until > ${now} then throttled_since else ${now} end,
      throttled_until = ${until}, throttled_reason = ${storableText(reason)} where account = ${account}
      and (throttled_until is null or throttled_until < ${until})`)
  })
}
