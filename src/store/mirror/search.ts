import { sql } from 'kysely'
import type { Query } from '../engine/db.ts'
import { accountsIn } from '../engine/sql.ts'
import { numberIn } from '../inbox/queries.ts'
import type { Columns } from '../schema/tables.ts'

/** A delivery that was looked for. */
export type FoundDelivery = Columns<
  'sync_inbox',
  'inbox_id' | 'delivery_id' | 'account' | 'submission_id' | 'kind' | 'state' | 'received_at'
>

/** Deliveries by their svix-id, or by their number. */
export async function findDeliveriesFor(q: Query, text: string, limit: number): Promise<FoundDelivery[]> {
  const number = numberIn(text)
  const which =
    number === null
      ? sql`account in ${accountsIn('sync_inbox')} and delivery_id = ${text}`
      : sql`inbox_id = ${number} or (account in ${accountsIn('sync_inbox')} and delivery_id = ${text})`
  const { rows } = await sql<FoundDelivery>`
    select inbox_id, delivery_id, account, submission_id, kind, state, received_at from sync_inbox where ${which}
    order by inbox_id desc limit ${sql.lit(limit)}`.execute(q.sql)
  return rows
}

/** A push that was looked for. */
export type FoundPush = Columns<
  'sync_outbox',
  'outbox_id' | 'message_id' | 'destination' | 'account' | 'submission_id' | 'entity' | 'state' | 'queued_at'
>

/** Pushes by their message id, or by their number. */
export async function findPushesFor(q: Query, text: string, limit: number): Promise<FoundPush[]> {
  const number = numberIn(text)
  const which = number === null ? sql`message_id = ${text.toLowerCase()}` : sql`outbox_id = ${number}`
  const { rows } = await sql<FoundPush>`
    select outbox_id, message_id, destination, account, submission_id, entity, state, queued_at from sync_outbox where ${which}
    order by outbox_id desc limit ${sql.lit(limit)}`.execute(q.sql)
  return rows
}
