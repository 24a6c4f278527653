import { sql } from 'kysely'
import type { TimeText } from '../model/time.ts'
import type { Db, Query } from './db.ts'
import { notifyOthers } from './notify.ts'
import { dbTime, timeValue } from './sql.ts'
import type { InboxState } from './tables.ts'

/** Which deliveries are meant; what is left out does not narrow. */
export interface InboxFilter {
  readonly state?: InboxState | undefined
  readonly account?: string | undefined
  readonly submissionId?: string | undefined
  /** Received at or after. */
  readonly since?: TimeText | undefined
  /** Received before. */
  readonly until?: TimeText | undefined
  /** Only those behind the one of this number in the list: older ones. */
  readonly after?: number | undefined
}

/** A delivery as lists show it: without its body. */
export interface InboxEntry {
  readonly inbox_id: number
  readonly delivery_id: string
  readonly account: string
  readonly received_at: TimeText
  readonly state: InboxState
  readonly kind: string | null
  readonly submission_id: string | null
  readonly attempts: number
  readonly error: string | null
}

/** A delivery with everything that is kept of it. */
export interface InboxDelivery extends InboxEntry {
  readonly available_at: TimeText
  readonly settled_at: TimeText | null
  /** Which of the account's webhook secrets verified it, from 1. */
  readonly secret: number
  /** JSON text of the headers that are kept. */
  readonly headers: string
  /** null when retention has taken it. */
  readonly body: Buffer | null
}

const ENTRY = ['inbox_id', 'delivery_id', 'account', 'received_at', 'state', 'kind', 'submission_id', 'attempts', 'error'] as const

/** Deliveries that the filter names, the newest first. */
export async function listDeliveries(q: Query, filter: InboxFilter, limit: number): Promise<InboxEntry[]> {
  return await filtered(q, filter).select(ENTRY).orderBy('inbox_id', 'desc').limit(limit).execute()
}

/** @returns the number that `text` is, or null when it is none that a row could have. */
export function numberIn(text: string): number | null {
  return /^\d{1,15}$/.test(text) ? Number(text) : null
}

/** The deliveries of that `svix-id` (one for each account that got it), or the one of that inbox id when `id` is a number. */
export async function findDeliveries(q: Query, id: string): Promise<InboxDelivery[]> {
  const query = q.sql.selectFrom('sync_inbox').select([...ENTRY, 'available_at', 'settled_at', 'secret', 'headers', 'body'])
  const byDelivery = await query.where('delivery_id', '=', id).orderBy('account').execute()
  const inboxId = numberIn(id)
  if (byDelivery.length > 0 || inboxId === null) return byDelivery
  return await query.where('inbox_id', '=', inboxId).execute()
}

/** What `replayDeliveries` did. `nextAfter` is where the next step begins, null when there is none. */
export interface ReplayStep {
  readonly replayed: number
  readonly nextAfter: number | null
}

/**
 * Makes stored deliveries ready again, up to `limit` of them in the order of their ids, as if they had just come: one step of a
 * replay. One whose body retention has taken is left alone.
 */
export async function replayDeliveries(db: Db, filter: InboxFilter, after: number, limit: number): Promise<ReplayStep> {
  const rows = await filtered(db.read, filter)
    .select('inbox_id')
    .where('inbox_id', '>', after)
    .where('body', 'is not', null)
    .orderBy('inbox_id')
    .limit(limit)
    .execute()
  const ids = rows.map((row) => row.inbox_id)
  const replayed = ids.length > 0 ? await makeReady(db, ids) : 0
  return { replayed, nextAfter: rows.length < limit ? null : (ids.at(-1) ?? null) }
}

/** Makes these deliveries ready again, whatever became of them before. One that still waits is left as it is. @returns how many. */
export function makeReady(db: Db, inboxIds: readonly number[]): Promise<number> {
  return db.write('inbox-replay', async (tx) => {
    const result = await tx.sql
      .updateTable('sync_inbox')
      .set({ state: 'ready', attempts: 0, available_at: dbTime(tx), lease_token: null, error: null, settled_at: null })
      .where('inbox_id', 'in', inboxIds)
      .where('state', '<>', 'ready')
      .where('body', 'is not', null)
      .executeTakeFirst()
    await notifyOthers(tx, 'inbox')
    tx.afterCommit(() => tx.signals.notify('inbox'))
    return Number(result.numUpdatedRows)
  })
}

/** How many deliveries there are of each account and state. It counts them all: for people, not for a timer. */
export async function countInbox(q: Query): Promise<{ account: string; state: InboxState; count: number }[]> {
  const { rows } = await sql<{ account: string; state: InboxState; count: number }>`
    select account, state, count(*) as count from sync_inbox group by account, state order by account, state`.execute(q.sql)
  return rows
}

function filtered(q: Query, filter: InboxFilter) {
  let query = q.sql.selectFrom('sync_inbox')
  if (filter.state !== undefined) query = query.where('state', '=', filter.state)
  if (filter.account !== undefined) query = query.where('account', '=', filter.account)
  if (filter.submissionId !== undefined) query = query.where('submission_id', '=', filter.submissionId)
  if (filter.since !== undefined) query = query.where('received_at', '>=', timeValue(q, filter.since) as never)
  if (filter.until !== undefined) query = query.where('received_at', '<', timeValue(q, filter.until) as never)
  if (filter.after !== undefined) query = query.where('inbox_id', '<', filter.after)
  return query
}
