import { type RawBuilder, sql } from 'kysely'
import { threadMessages } from '../../model/entities/thread-messages.ts'
import type { Row } from '../../model/entity.ts'
import { isObject } from '../../model/json.ts'
import type { TimeText } from '../../model/time.ts'
import type { Query } from '../engine/db.ts'
import { valuesTable } from '../engine/sql.ts'
import { decoderOfColumn, type SqliteValue } from '../schema/codec.ts'
import { itsRemoteId } from '../schema/push-states.ts'
import { relationOf, specOf } from '../schema/table.ts'
import { firstIds } from './first-ids.ts'
import type { LaneKey } from './lanes.ts'
import { presentSubmissions } from './present-rows.ts'
import type { PushProgress } from './progress.ts'
import { namesClient } from './push-map.ts'

/** The `error` of a skipped change whose record has no known id at the target. Retrying the insert finds such rows by it. */
export const ID_NOT_KNOWN =
  "not sent: the target's id of the record is not known, because its insert was left out, was never taken, or was taken without an id"

/** What a row of the outbox is about. */
export interface QueuedChange {
  /** A UUID, the same on every attempt: the `webhook-id`, `refId` or external id. */
  readonly messageId: string
  readonly account: string
  readonly submissionId: string | null
  /** The table's name. */
  readonly entity: string
  /** The key after `account`, as JSON array text. */
  readonly entityId: string
  readonly operation: string
  readonly cause: string
  /** Number of the change; of a row of a snapshot, of the newest change that the row contains. */
  readonly seq: number
}

/** An outbox row with everything needed to send it. Personal fields are still in it. */
export interface OutboxRow extends QueuedChange {
  readonly outboxId: number
  readonly snapshot: boolean
  /** Empty when somebody has deleted or damaged the change in the log: then there is nothing to send. */
  readonly changedAt: TimeText
  readonly before: Row | null
  readonly after: Row | null
  /** `after` as the exact JSON text from the log; null where the database does not give it. */
  readonly afterText: string | null
  /** Finished attempts. */
  readonly attempts: number
  /** HTTP status of the last attempt; null without one. */
  readonly status: number | null
  /** Before this claim: an attempt began, and its outcome is unknown. */
  readonly uncertain: boolean
  readonly progress: PushProgress | null
  /** Before this claim: when the last attempt ended, or may have begun (see `LaneClaim.lookupAfterMs`). */
  readonly triedAt: TimeText | null
  /** Sent again because an operator asked for it, under the same id or a new one. */
  readonly resent: 'same' | 'new' | null
  /** With this the record ceased to pass the `filter` of the destination. */
  readonly leftFilter: boolean
  readonly remoteId: string | null
  readonly mapping: { readonly client: string; readonly policy: string | null; readonly fields: Readonly<Record<string, string>> } | null
  /** The submission's current row, without `raw`; null when it does not exist or was not requested. */
  readonly submission: Row | null
  /** For a message, `thread_messages.direction` from the service (`inbound`: written by the brokerage); otherwise null. */
  readonly direction: string | null
}

const directions = specOf(relationOf(threadMessages), 'account', 'submission_id', 'message_id', 'direction')

interface Found {
  lane: string
  outbox_id: number
  message_id: string
  account: string
  submission_id: string | null
  entity: string
  entity_id: string
  operation: string
  cause: string
  seq: number
  snapshot: string | null
  attempts: number
  status: number | null
  uncertain: number
  tried_at: TimeText | null
  progress: string | null
  resent: 'same' | 'new' | null
  left_filter: number | null
  changed_at: TimeText | null
  before: Row | null
  after: Row | null
  after_text?: string
  remote_id: string | null
  client: string | null
  policy: string | null
  fields: Record<string, string> | null
}

/** First rows of lanes. */
export interface FirstRows {
  /** By `account lane`. Lanes without rows are missing. */
  readonly byLane: ReadonlyMap<string, OutboxRow[]>
  /** Whether rows were left out because of the byte limit. */
  readonly isFull: boolean
}

/**
 * @param options `submissions`: read them too.
 * @returns the first `limit` ready rows of each lane, in order. Of all lanes together the oldest rows up to the byte limit, and at least one.
 */
export async function firstRows(
  q: Query,
  lanes: readonly LaneKey[],
  options: { readonly limit: number; readonly submissions: boolean },
): Promise<FirstRows> {
  const { ids, isFull } = await firstIds(q, lanes, options.limit)
  const found = await readRows(q, sql`${givenIds(q, ids)} join sync_outbox o on o.outbox_id = given.outbox_id`)
  const known = await presentSubmissions(q, options.submissions ? found : [])
  const directionOf = await readDirections(q, found)
  const byLane = new Map<string, OutboxRow[]>()
  for (const row of found) {
    const key = `${row.account} ${row.lane}`
    const rows = byLane.get(key) ?? []
    byLane.set(key, rows)
    const submission = known.get(`${row.account} ${row.submission_id}`) ?? null
    rows.push(outboxRow(row, submission, directionOf.get(row.outbox_id) ?? null))
  }
  return { byLane, isFull }
}

const unqueued = {
  outbox_id: 'int',
  message_id: 'text',
  destination: 'text',
  account: 'text',
  lane: 'text',
  submission_id: 'text',
  entity: 'text',
  entity_id: 'text',
  operation: 'text',
  cause: 'text',
  seq: 'int',
  snapshot: 'text',
  left_filter: 'int',
} as const

/** What a row is made of before it is queued. */
type UnsentRow = QueuedChange & { readonly snapshot: object | null; readonly leftFilter?: boolean }

/** Rows as they would be sent now, whether they are queued or not, in their order; numbered from 1. Nothing is written. */
export async function rowsAsSent(q: Query, rows: readonly UnsentRow[], destination: string): Promise<OutboxRow[]> {
  const given = rows.map(({ messageId, account, submissionId, entity, entityId, operation, cause, seq, snapshot, leftFilter }, index) => ({
    outbox_id: index + 1,
    message_id: messageId,
    destination,
    account,
    lane: submissionId ?? '',
    submission_id: submissionId,
    entity,
    entity_id: entityId,
    operation,
    cause,
    seq,
    snapshot: snapshot && JSON.stringify(snapshot),
    left_filter: leftFilter === true ? 1 : null,
  }))
  const asSent = sql`(select given.*, 0 as attempts, 0 as uncertain, null as tried_at, cast(null as integer) as status, cast(null as text) as progress,
    cast(null as text) as resent from ${valuesTable(q, unqueued, given)}) as o`
  return await completed(q, await readRows(q, asSent))
}

/** Rows that their destinations have taken, of those with these numbers, with all that was sent, in their order. Nothing is claimed. */
export async function deliveredRows(q: Query, outboxIds: readonly number[]): Promise<OutboxRow[]> {
  const taken = sql`${givenIds(q, outboxIds)} join sync_outbox o on o.outbox_id = given.outbox_id and o.state = 'delivered'`
  return await completed(q, await readRows(q, taken))
}

async function completed(q: Query, found: readonly Found[]): Promise<OutboxRow[]> {
  const known = await presentSubmissions(q, found)
  const directionOf = await readDirections(q, found)
  return found.map((row) =>
    outboxRow(row, known.get(`${row.account} ${row.submission_id}`) ?? null, directionOf.get(row.outbox_id) ?? null),
  )
}

async function readRows(q: Query, from: RawBuilder<unknown>): Promise<Found[]> {
  // SQLite: an expression is not a column, so its JSON text is returned undecoded.
  const after = q.kind === 'sqlite' ? sql`+c.after` : sql`c.after`
  const { rows } = await sql<Found>`
    select o.lane, o.outbox_id, o.message_id, o.account, o.submission_id, o.entity, o.entity_id, o.operation, o.cause, o.seq, o.snapshot,
      o.attempts, o.status, o.uncertain, o.tried_at, o.progress, o.resent, o.left_filter, c.changed_at, c.before, ${after} as after, r.remote_id, m.client, m.policy, m.fields
    from ${from}
    left join changes c on c.seq = o.seq and o.snapshot is null
    left join sync_remote_ids r on ${sql.raw(itsRemoteId)}
    left join push_map m
      on m.destination = o.destination and m.account = o.account and m.submission_id = o.submission_id and ${namesClient}
    order by o.outbox_id`.execute(q.sql)
  if (q.kind === 'sqlite') for (const row of rows) readText(row)
  return rows
}

const columnsOf = decoderOfColumn('changes', 'after')

/** Decodes `after` from its text, and keeps the text. */
function readText(row: Found): void {
  const stored: unknown = row.after
  row.after = (columnsOf?.(stored as SqliteValue) ?? null) as Row | null
  if (typeof stored === 'string') row.after_text = stored
}

/** Outbox ids for a `from` clause, under the name `given`. */
function givenIds(q: Pick<Query, 'kind'>, outboxIds: readonly number[]): RawBuilder<unknown> {
  const json = JSON.stringify(outboxIds)
  if (q.kind === 'sqlite') return sql`(select value as outbox_id from json_each(${json})) as given`
  return sql`(select value::bigint as outbox_id from json_array_elements_text(${json}::json)) as given`
}

/** The same for use behind `in`: one parameter, however many ids. */
export function amongIds(q: Pick<Query, 'kind'>, outboxIds: readonly number[]): RawBuilder<number> {
  return sql<number>`(select outbox_id from ${givenIds(q, outboxIds)})`
}

/** A change contains the direction only when it contains the whole message; otherwise it is looked up. @returns by `outbox_id`. */
async function readDirections(q: Query, found: readonly Found[]): Promise<ReadonlyMap<number, string>> {
  const directionOf = new Map<number, string>()
  const missing = new Map<string, Row>()
  const messages = found.filter((row) => row.entity === 'thread_messages')
  for (const row of messages) {
    const after = contentOf(row).after
    if (typeof after?.['direction'] === 'string') directionOf.set(row.outbox_id, after['direction'])
    else missing.set(messageText(row.account, row.entity_id), messageKey(row))
  }
  const rows = await q.selectMany(directions, [...missing.values()])
  const stored = new Map(
    rows.map((row) => [messageText(String(row['account']), JSON.stringify([row['submission_id'], row['message_id']])), row]),
  )
  for (const row of messages) {
    const direction = stored.get(messageText(row.account, row.entity_id))?.['direction']
    if (!directionOf.has(row.outbox_id) && typeof direction === 'string') directionOf.set(row.outbox_id, direction)
  }
  return directionOf
}

function messageKey(row: Found): Row {
  const [submissionId = null, messageId = null] = JSON.parse(row.entity_id) as (string | null)[]
  return { account: row.account, submission_id: submissionId, message_id: messageId }
}

function messageText(account: string, entityId: string): string {
  return `${account} ${entityId}`
}

type Content = Pick<Found, 'changed_at' | 'before' | 'after' | 'after_text'>

/** The content of a change comes from the log, that of a snapshot row from the outbox. */
function contentOf(row: Found): Content {
  if (row.snapshot === null) return isWhole(row.before) && isWhole(row.after) ? row : { changed_at: null, before: null, after: null }
  return { before: null, ...(JSON.parse(row.snapshot) as { changed_at: TimeText; after: Row }) }
}

/** False for text or a number that somebody has written in place of the columns. */
function isWhole(columns: Row | null): boolean {
  return columns === null || isObject(columns)
}

function outboxRow(row: Found, submission: Row | null, direction: string | null): OutboxRow {
  const { changed_at, before, after, after_text = null } = contentOf(row)
  return {
    outboxId: row.outbox_id,
    messageId: row.message_id,
    account: row.account,
    submissionId: row.submission_id,
    entity: row.entity,
    entityId: row.entity_id,
    operation: row.operation,
    cause: row.cause,
    seq: row.seq,
    snapshot: row.snapshot !== null,
    // Retention keeps the log while something of it waits here.
    changedAt: changed_at ?? '',
    before,
    after,
    afterText: after_text,
    attempts: row.attempts,
    status: row.status,
    uncertain: row.uncertain !== 0,
    triedAt: row.tried_at,
    progress: row.progress === null ? null : (JSON.parse(row.progress) as PushProgress),
    resent: row.resent,
    leftFilter: row.left_filter === 1,
    remoteId: row.remote_id,
    mapping: row.client === null ? null : { client: row.client, policy: row.policy, fields: row.fields ?? {} },
    submission,
    direction,
  }
}
