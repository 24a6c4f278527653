import { sql } from 'kysely'
import type { Query } from '../engine/db.ts'
import { distinctIn } from '../engine/sql.ts'
import { numberIn } from '../inbox/queries.ts'
import type { Columns } from '../schema/tables.ts'

/** Finds deliveries by `svix-id` or `inbox_id`, newest first. */
export async function findDeliveriesFor(q: Query, text: string, limit: number) {
  const number = numberIn(text)
  const which =
    number === null
      ? sql`account in ${distinctIn('sync_inbox', 'account')} and delivery_id = ${text}`
      : sql`inbox_id = ${number} or (account in ${distinctIn('sync_inbox', 'account')} and delivery_id = ${text})`
  return await q.all(sql<
    Columns<'sync_inbox', 'inbox_id' | 'delivery_id' | 'account' | 'submission_id' | 'kind' | 'state' | 'received_at'>
  >`
    select inbox_id, delivery_id, account, submission_id, kind, state, received_at from sync_inbox where ${which}
    order by inbox_id desc limit ${sql.lit(limit)}`)
}

/** Finds pushes by message id or `outbox_id`, newest first. */
export async function findPushesFor(q: Query, text: string, limit: number) {
  const number = numberIn(text)
  const which = number === null ? sql`message_id = ${text.toLowerCase()}` : sql`outbox_id = ${number}`
  return await q.all(sql<
    Columns<'sync_outbox', 'outbox_id' | 'message_id' | 'destination' | 'account' | 'submission_id' | 'state' | 'queued_at'>
  >`
    select outbox_id, message_id, destination, account, submission_id, state, queued_at from sync_outbox where ${which}
    order by outbox_id desc limit ${sql.lit(limit)}`)
}
