import { type RawBuilder, sql } from 'kysely'
import { parseTime, type TimeText } from '../../model/time.ts'
import type { Query } from '../engine/db.ts'
import { timeValue, unindexed } from '../engine/sql.ts'
import type { ArrivalsView } from '../schema/completeness.ts'
import { outboxStates } from '../schema/push.ts'
import { itsStream, ofPush } from '../schema/push-states.ts'
import type { Columns } from '../schema/tables.ts'

/** Kinds of entries. A timeline begins with the newest entry and lists entries with the same time in this order. */
export const timelineKinds = ['push', 'change', 'message', 'event'] as const
export type TimelineKind = (typeof timelineKinds)[number]

/** Position of an entry in a timeline. */
export interface TimelinePlace {
  readonly at: TimeText
  readonly kind: TimelineKind
  /** As text: id of an event or message, `seq` of a change, or `outbox_id` of a push. */
  readonly id: string
}

/** Timeline entry for an event or a message. */
export interface TimelineRecord extends TimelinePlace {
  readonly what: string
  readonly summary: string | null
  readonly text: string | null
  readonly party: string | null
  readonly direction: string | null
  readonly lane_id: string | null
  readonly known_at: TimeText
  readonly gone_at: TimeText | null
}

/** Timeline entry for a change in the change log, except changes of the tables in `RECORDS`. */
export type TimelineChange = TimelinePlace & Columns<'changes', 'entity' | 'entity_id' | 'operation' | 'cause' | 'before' | 'after'>

/** Timeline entry for the push of a change to a destination. */
export interface TimelinePush
  extends TimelinePlace,
    Columns<'push_status', 'destination' | 'state' | 'seq' | 'entity' | 'entity_id' | 'operation' | 'attempts' | 'queued_at' | 'tried_at'>,
    Columns<'push_status', 'delivered_at' | 'status' | 'error'> {
  /** 1 if an operator requested a resend; otherwise 0. */
  readonly is_resent: number
}

type Key = { readonly account: string; readonly submission_id: string }

interface Asked {
  readonly key: Key
  /** Position of the last entry on the previous page; undefined: the first page. */
  readonly after: TimelinePlace | undefined
  readonly limit: number
  /** Highest change number to include. */
  readonly until?: number | undefined
}

/** Tables whose rows the timeline shows. The timeline leaves out the changes of these rows. */
const RECORDS = ['market_events', 'thread_messages', 'thread_attachments']

/** Events of the next page, newest first. */
export async function eventsBefore(q: Query, asked: Asked): Promise<TimelineRecord[]> {
  const rows = await q.all(sql<TimelineRecord>`
    select occurred_at as at, event_id as id, type as what, coalesce(status_label, status) as summary, detail as text, market_name as party,
      lane_id, first_seen_at as known_at, gone_at
    from market_events where ${behind(q, asked, 'event', sql`occurred_at`, sql`event_id`)}
    order by occurred_at desc, event_id desc limit ${sql.lit(asked.limit)}`)
  return rows.map((row) => ({ ...row, kind: 'event', direction: null }))
}

/** Messages of the next page, newest first. */
export async function messagesBefore(q: Query, asked: Asked): Promise<TimelineRecord[]> {
  const rows = await q.all(sql<TimelineRecord>`
    select occurred_at as at, message_id as id, kind as what, subject as summary, body_text as text, from_address as party, direction,
      first_seen_at as known_at, gone_at
    from thread_messages where ${behind(q, asked, 'message', sql`occurred_at`, sql`message_id`)}
    order by occurred_at desc, message_id desc limit ${sql.lit(asked.limit)}`)
  return rows.map((row) => ({ ...row, kind: 'message', lane_id: null }))
}

/** Changes of the next page, newest first. Leaves out changes of the tables in `RECORDS`. */
export async function changesBefore(q: Query, asked: Asked): Promise<TimelineChange[]> {
  const rows = await q.all(sql<TimelineChange & { seq: number }>`
    select c.changed_at as at, c.seq, c.entity, c.entity_id, c.operation, c.cause, c.before, c.after from changes c
    where ${behind(q, asked, 'change', sql`c.changed_at`, sql`c.seq`)} and c.entity not in (${sql.join(RECORDS.map((table) => sql.lit(table)))})
      ${asked.until === undefined ? sql`` : sql`and c.seq <= ${asked.until}`}
    order by c.changed_at desc, c.seq desc limit ${sql.lit(asked.limit)}`)
  return rows.map(({ seq, ...row }) => ({ ...row, kind: 'change', id: String(seq) }))
}

const PUSHED_AT = sql`coalesce(o.settled_at, o.tried_at, o.queued_at)`
const STATES = outboxStates.map((state) => sql.lit(state))
const PUSH = sql`
  select ${PUSHED_AT} as at, o.outbox_id, o.destination, o.seq, o.entity, o.entity_id, o.operation, o.attempts, o.queued_at, o.tried_at,
    ${sql.raw(ofPush.state)} as state, ${sql.raw(ofPush.deliveredAt)} as delivered_at, o.status, o.error,
    case when o.resent is null then 0 else 1 end as is_resent
  from sync_outbox o
  left join sync_push_streams l on ${sql.raw(itsStream)}`

/**
 * Pushes of the next page, newest first.
 * A push has the time when it was settled. An unsettled push has the time of its newest attempt. A push without an
 * attempt has the time when it was queued.
 */
export async function pushesBefore(q: Query, asked: Asked): Promise<TimelinePush[]> {
  return await pushes(
    q,
    sql`${PUSH} where ${behind(q, asked, 'push', PUSHED_AT, sql`o.outbox_id`, 'o.')} and o.state in (${sql.join(STATES)})
      order by at desc, o.outbox_id desc limit ${sql.lit(asked.limit)}`,
  )
}

/** Pushes of the rows in `entityIds`, in the order in which they were queued. */
export async function pushesOf(q: Query, { account, submission_id }: Key, entityIds: readonly string[]): Promise<TimelinePush[]> {
  if (entityIds.length === 0) return []
  return await pushes(
    q,
    sql`${PUSH} where o.account = ${account} and o.submission_id = ${submission_id} and o.state in (${sql.join(STATES)})
      and o.entity_id in (${sql.join([...new Set(entityIds)])}) order by ${unindexed(q, 'o.outbox_id')}`,
  )
}

async function pushes(q: Query, statement: RawBuilder<unknown>): Promise<TimelinePush[]> {
  const rows = await q.all(statement as RawBuilder<TimelinePush & { outbox_id: number }>)
  return rows.map(({ outbox_id, ...row }) => ({ ...row, kind: 'push', id: String(outbox_id) }))
}

/** When and how events or messages became known. */
export async function arrivalsOf(
  q: Query,
  { account, submission_id }: Key,
  entity: ArrivalsView['entity'],
  ids: readonly string[],
): Promise<ArrivalsView[]> {
  if (ids.length === 0) return []
  return await q.all(sql<ArrivalsView>`
    select * from arrivals where account = ${account} and submission_id = ${submission_id} and entity = ${entity}
    and record_id in (${sql.join(ids)})`)
}

export async function attachmentsOf(q: Query, { account, submission_id }: Key, ids: readonly string[]) {
  if (ids.length === 0) return []
  return await q.all(sql<Columns<'thread_attachments', 'message_id' | 'position' | 'name' | 'document_key' | 'gone_at'>>`
    select message_id, position, name, document_key, gone_at from thread_attachments where account = ${account}
    and submission_id = ${submission_id} and message_id in (${sql.join(ids)}) order by message_id, position`)
}

/**
 * SQL condition: an entry of the submission comes after the position `after`.
 * Compares the time, then the kind, then the id. Without `after`, all entries of the submission match.
 */
function behind(
  q: Query,
  { key, after }: Asked,
  kind: TimelineKind,
  at: RawBuilder<unknown>,
  id: RawBuilder<unknown>,
  row = '',
): RawBuilder<unknown> {
  const own = sql`${sql.ref(`${row}account`)} = ${key.account} and ${sql.ref(`${row}submission_id`)} = ${key.submission_id}`
  if (after === undefined) return own
  const time = timeValue(q, after.at)
  const order = timelineKinds.indexOf(kind) - timelineKinds.indexOf(after.kind)
  if (order > 0) return sql`${own} and ${at} <= ${time}`
  if (order < 0) return sql`${own} and ${at} < ${time}`
  const lastId = kind === 'change' || kind === 'push' ? sql`${Number(after.id)}` : sql`${after.id}`
  return sql`${own} and ${at} <= ${time} and (${at} < ${time} or ${id} < ${lastId})`
}

/** Builds a position from the parts of a cursor; null if a part is invalid. */
export function timelinePlace(at: string, named: string, id: string): TimelinePlace | null {
  const kind = timelineKinds.find((each) => each === named)
  if (kind === undefined || parseTime(at) === null) return null
  const isNumbered = kind === 'change' || kind === 'push'
  return isNumbered && !/^\d{1,15}$/.test(id) ? null : { at, kind, id }
}
