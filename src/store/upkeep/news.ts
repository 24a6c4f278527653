import { sql } from 'kysely'
import type { TimeText } from '../../model/time.ts'
import type { Query } from '../engine/db.ts'

/** A row with a number that tells new ones from those before; `state` changes while it is worked on. */
export interface NumberedRow {
  readonly id: number
  readonly state: string
}

/** A delivery, as whoever looks on is told of it: no header, body or error. */
export interface DeliveryNews extends NumberedRow {
  readonly delivery_id: string
  readonly account: string
  readonly received_at: TimeText
  readonly kind: string | null
  readonly submission_id: string | null
  readonly attempts: number
}

/** A row of the outbox, as whoever looks on is told of it. */
export interface PushNews extends NumberedRow {
  readonly destination: string
  readonly account: string
  readonly submission_id: string | null
  readonly entity: string
  readonly entity_id: string
  readonly operation: string
  readonly seq: number
  readonly message_id: string
  readonly attempts: number
}

/** A row of the change log without its values. */
export interface ChangeNews {
  readonly seq: number
  readonly account: string
  readonly submission_id: string | null
  readonly entity: string
  readonly entity_id: string
  readonly operation: string
  readonly cause: string
  readonly changed_at: TimeText
}

/** The newest numbers: whoever begins to look on is told of what comes behind them. */
export async function newestNumbers(q: Query): Promise<{ readonly delivery: number; readonly push: number; readonly change: number }> {
  const { rows } = await sql<{ delivery: number | null; push: number | null; change: number | null }>`
    select (select max(inbox_id) from sync_inbox) as delivery, (select max(outbox_id) from sync_outbox) as push,
      (select last_seq from mirror_info where id = 1) as change`.execute(q.sql)
  const [row] = rows
  return { delivery: row?.delivery ?? 0, push: row?.push ?? 0, change: row?.change ?? 0 }
}

/** Rows behind a number, the newest first, and given rows as they are now. */
export type ReadNews<Row> = (q: Query, after: number, limit: number) => Promise<Row[]>
export type ReadAgain<Row> = (q: Query, ids: readonly number[]) => Promise<Row[]>

function deliveries(q: Query) {
  return q.sql
    .selectFrom('sync_inbox')
    .select(['inbox_id as id', 'delivery_id', 'account', 'received_at', 'state', 'kind', 'submission_id', 'attempts'])
}

export const newDeliveries: ReadNews<DeliveryNews> = (q, after, limit) =>
  deliveries(q).where('inbox_id', '>', after).orderBy('inbox_id', 'desc').limit(limit).execute()

export const deliveriesAgain: ReadAgain<DeliveryNews> = (q, ids) => deliveries(q).where('inbox_id', 'in', ids).execute()

function pushes(q: Query) {
  return q.sql
    .selectFrom('sync_outbox')
    .select(['outbox_id as id', 'destination', 'account', 'submission_id', 'entity', 'entity_id', 'operation', 'seq', 'message_id'])
    .select(['state', 'attempts'])
}

export const newPushes: ReadNews<PushNews> = (q, after, limit) =>
  pushes(q).where('outbox_id', '>', after).orderBy('outbox_id', 'desc').limit(limit).execute()

export const pushesAgain: ReadAgain<PushNews> = (q, ids) => pushes(q).where('outbox_id', 'in', ids).execute()

/** The changes behind a number, in order. */
export function newChanges(q: Query, after: number, limit: number): Promise<ChangeNews[]> {
  return q.sql
    .selectFrom('changes')
    .select(['seq', 'account', 'submission_id', 'entity', 'entity_id', 'operation', 'cause', 'changed_at'])
    .where('seq', '>', after)
    .orderBy('seq')
    .limit(limit)
    .execute()
}
