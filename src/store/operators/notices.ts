import { type RawBuilder, sql } from 'kysely'
import { storableText } from '../../model/json.ts'
import type { Db, Query, Tx } from '../engine/db.ts'
import { Leased, newLeaseToken } from '../engine/leased.ts'
import { dbTime } from '../engine/sql.ts'
import type { AlarmKey } from './alarms.ts'

/** A message to an alert recipient. This process may send the message until the lease ends. */
export interface ClaimedNotice extends AlarmKey {
  readonly operator: string
  readonly noticeId: string
  readonly leaseToken: string
  readonly body: string
  readonly attempts: number
}

/** Result of sending a message. `waitMs`: delay before the next attempt; null if no further attempt is made. */
export type NoticeResult =
  | { readonly type: 'sent' }
  | { readonly type: 'failed'; readonly attempts: number; readonly error: string; readonly waitMs: number | null }
  /** No attempt was made. The message is due again immediately. */
  | { readonly type: 'untried' }

export const claimedNotices = new Leased<ClaimedNotice>({
  table: 'sync_alert_messages',
  what: 'message',
  key: { notice_id: 'noticeId' },
})

/**
 * Claims due messages to these recipients for `leaseMs`, longest due first.
 * @param operators names of the recipients.
 */
export async function claimNotices(db: Db, operators: readonly string[], limit: number, leaseMs: number): Promise<ClaimedNotice[]> {
  if (operators.length === 0) return []
  const leaseToken = newLeaseToken(db)
  return db.write('notice-claim', async (tx) => {
    const selection = claimedNotices.select(tx, { where: sql`settled_at is null and operator in (${sql.join(operators)})`, limit })
    const columns = ['operator', 'name', 'account', 'destination', 'body', 'attempts']
    const returning = Object.fromEntries(columns.map((column) => [column, column]))
    return claimedNotices.claim(tx, leaseToken, selection, { leaseMs, returning })
  })
}

/**
 * Stores the result of sending a message. If the message was sent, also sets `notified_at` of the alarm.
 * If a newer message has replaced the message's row, the row stays unchanged.
 */
export async function settleNotice(db: Db, claimed: ClaimedNotice, result: NoticeResult): Promise<void> {
  const { name, account, destination } = claimed
  await db.write('notice-settle', async (tx) => {
    if (result.type === 'untried') return await claimedNotices.release(tx, claimed)
    const set =
      result.type === 'failed'
        ? failed(tx, result)
        : sql`attempts = attempts + 1, error = null, outcome = 'sent', settled_at = ${dbTime(tx)}`
    await tx.run(
      sql`update sync_alert_messages set lease_token = null, ${set} where ${claimedNotices.isOurs(claimed)} and settled_at is null`,
    )
    if (result.type === 'failed') return
    // Updates the alarm even if a newer message replaced the row, because the old message was sent.
    await tx.run(sql`
      update alarms set notified_at = ${dbTime(tx)}
      where name = ${name} and account = ${account} and destination = ${destination}`)
  })
}

function failed(tx: Tx, { attempts, waitMs, error }: Extract<NoticeResult, { type: 'failed' }>): RawBuilder<unknown> {
  const end = waitMs === null ? sql`outcome = 'skipped', settled_at = ${dbTime(tx)}` : sql`due_at = ${dbTime(tx, waitMs)}`
  return sql`attempts = ${attempts}, error = ${storableText(error)}, ${end}`
}

export async function countUnsent(q: Query): Promise<ReadonlyMap<string, number>> {
  const rows = await q.all(sql<{ operator: string; n: number }>`
    select operator, count(*) as n from sync_alert_messages where settled_at is null group by operator`)
  return new Map(rows.map(({ operator, n }) => [operator, n]))
}
