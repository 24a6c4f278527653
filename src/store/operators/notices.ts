import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { storableText } from '../../model/json.ts'
import type { Db, Query } from '../engine/db.ts'
import { dbTime, skipLocked } from '../engine/sql.ts'
import type { AlarmKey } from './alarms.ts'

/** A message that this process may send until its lease ends. */
export interface ClaimedNotice extends AlarmKey {
  readonly operator: string
  readonly noticeId: string
  readonly leaseToken: string
  /** JSON text, as sent. */
  readonly body: string
  /** Finished attempts. */
  readonly attempts: number
}

/** How an attempt ended. `waitMs`: delay before the next one; null when it was the last. */
export type NoticeResult =
  | { readonly type: 'sent' }
  | { readonly type: 'failed'; readonly attempts: number; readonly error: string; readonly waitMs: number | null }
  /** Not attempted: due again at once. */
  | { readonly type: 'untried' }

/** Claims due messages of the operators, the oldest first, for `leaseMs`. */
export async function claimNotices(db: Db, operators: readonly string[], limit: number, leaseMs: number): Promise<ClaimedNotice[]> {
  if (operators.length === 0) return []
  const leaseToken = randomUUID()
  return db.write('notice-claim', async (tx) => {
    const { rows } = await sql<Omit<ClaimedNotice, 'noticeId' | 'leaseToken'> & { notice_id: string }>`
      update sync_operator_notices set lease_token = ${leaseToken}, due_at = ${dbTime(tx, leaseMs)}
      where notice_id in (
        select notice_id from sync_operator_notices
        where settled_at is null and due_at <= ${dbTime(tx)} and operator in (${sql.join(operators)})
        order by due_at limit ${sql.lit(limit)} ${skipLocked(tx)})
      returning operator, name, account, destination, notice_id, body, attempts`.execute(tx.sql)
    return rows.map(({ notice_id: noticeId, ...row }) => ({ ...row, noticeId, leaseToken }))
  })
}

/**
 * Settles an attempt; a sent message also marks its alarm as notified. A message that was replaced meanwhile is left alone.
 */
export async function settleNotice(db: Db, claimed: ClaimedNotice, result: NoticeResult): Promise<void> {
  const { noticeId, leaseToken, name, account, destination } = claimed
  await db.write('notice-settle', async (tx) => {
    const ours = sql`where notice_id = ${noticeId} and lease_token = ${leaseToken} and settled_at is null`
    if (result.type === 'untried') {
      await sql`update sync_operator_notices set lease_token = null, due_at = ${dbTime(tx)} ${ours}`.execute(tx.sql)
      return
    }
    if (result.type === 'failed') {
      const { attempts, waitMs } = result
      const error = storableText(result.error)
      const end = waitMs === null ? sql`outcome = 'given_up', settled_at = ${dbTime(tx)}` : sql`due_at = ${dbTime(tx, waitMs)}`
      await sql`update sync_operator_notices set lease_token = null, attempts = ${attempts}, error = ${error}, ${end} ${ours}`.execute(
        tx.sql,
      )
      return
    }
    await sql`
      update sync_operator_notices set lease_token = null, attempts = attempts + 1, error = null, outcome = 'sent', settled_at = ${dbTime(tx)}
      ${ours}`.execute(tx.sql)
    // It was sent, whatever became of the message since.
    await sql`
      update alarms set notified_at = ${dbTime(tx)}
      where name = ${name} and account = ${account} and destination = ${destination}`.execute(tx.sql)
  })
}

/** Unsent messages by operator. */
export async function countUnsent(q: Query): Promise<ReadonlyMap<string, number>> {
  const { rows } = await sql<{ operator: string; n: number }>`
    select operator, count(*) as n from sync_operator_notices where settled_at is null group by operator`.execute(q.sql)
  return new Map(rows.map(({ operator, n }) => [operator, n]))
}
