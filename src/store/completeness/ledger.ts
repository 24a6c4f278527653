import type { TimeText } from '../../model/time.ts'
import type { Query } from '../engine/db.ts'
import type { AccountCompletenessView } from '../schema/completeness.ts'

/** The sums of one account; null when it was never configured here. Reads every submission, so it is for people who ask, not for a timer. */
export async function accountCompleteness(q: Query, account: string): Promise<AccountCompletenessView | null> {
  const row = await q.sql.selectFrom('account_completeness').selectAll().where('account', '=', account).executeTakeFirst()
  return row ?? null
}

/** The oldest proof among an account's submissions; null when none was ever proved. Uses an index. */
export async function oldestProof(q: Query, account: string): Promise<TimeText | null> {
  const row = await q.sql
    .selectFrom('sync_proofs')
    .select('proved_at')
    .where('account', '=', account)
    .where('proved_at', 'is not', null)
    .orderBy('proved_at')
    .limit(1)
    .executeTakeFirst()
  return row?.proved_at ?? null
}
