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
import { presentSubmissions } from './present-rows.ts'
import type { PushProgress } from './progress.ts'
import { namesClient } from './push-map.ts'
import { givenStreams, type StreamKey } from './streams.ts'

/**
 * Error text of a change that was skipped because the record's id at the target is unknown. If the insert of the record
 * is retried, the changes with this text are retried too.
 */
export const ID_NOT_KNOWN =
  "not sent: the target's id of the record is unknown, because its insert was excluded, never accepted, or accepted without an id"

/** The change that a row delivers. */
export interface QueuedChange {
  /** A UUID that stays the same on every attempt. Sent as `webhook-id`, `refId`, or external id. */
  readonly messageId: string
  readonly account: string
  readonly submissionId: string | null
  readonly entity: string
  /** The record's key without `account`, as the text of a JSON array. */
  readonly entityId: string
  readonly operation: string
  readonly cause: string
  /** Number of the change. For a snapshot row: number of the newest change that the row contains. */
  readonly seq: number
}

/** An outbox row with everything needed to send it, including personal fields. */
export interface OutboxRow extends QueuedChange {
  readonly outboxId: number
  readonly snapshot: boolean
  /**
   * Time of the change. Empty if the change log no longer has the change, or if its content is damaged. Such a row
   * can't be sent.
   */
  readonly changedAt: TimeText
  readonly before: Row | null
  readonly after: Row | null
  /** JSON text of `after`, exactly as stored in the change log. Null on Postgres and for snapshot rows. */
  readonly afterText: string | null
  readonly attempts: number
  /** HTTP status of the last attempt. */
  readonly status: number | null
  /** Whether an earlier attempt has an unknown outcome. */
  readonly uncertain: boolean
  readonly progress: PushProgress | null
  /**
   * When the newest attempt before this claim ended; null if there was none. For an attempt without a stored outcome
   * that was claimed with `lookupAfterMs`: when the row was claimed.
   */
  readonly triedAt: TimeText | null
  /** Set if an operator resends the change. `same`: with the earlier message id. `new`: with a new message id. */
  readonly resent: 'same' | 'new' | null
  /** True if this change makes the record stop matching the destination's `filter`. */
  readonly leftFilter: boolean
  readonly remoteId: string | null
  readonly mapping: { readonly client: string; readonly policy: string | null; readonly fields: Readonly<Record<string, string>> } | null
  /** The submission's current row, without `raw`. Null if the row doesn't exist or wasn't requested. */
  readonly submission: Row | null
  /** For a message, `thread_messages.direction` (`inbound`: written by the brokerage); otherwise null. */
  readonly direction: string | null
}

const directions = specOf(relationOf(threadMessages), 'account', 'submission_id', 'message_id', 'direction')

interface Found {
  stream: string
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

export interface FirstRows {
  /**
   * The first ready rows of each stream. The key is the account and the stream, separated by a space. A stream has no
   * entry if it has no ready rows, or if the limit in bytes left out all its rows.
   */
  readonly byStream: ReadonlyMap<string, OutboxRow[]>
  /** Whether rows were left out because of the limit in bytes. */
  readonly isFull: boolean
}

/**
 * Reads the first `limit` ready rows of each stream. If all these rows together exceed `CLAIM_BYTES`, leaves out the
 * newest rows, but returns at least one row.
 * @param options `submissions`: whether to also read the submissions' current rows.
 */
export async function firstRows(
  q: Query,
  streams: readonly StreamKey[],
  options: { readonly limit: number; readonly submissions: boolean },
): Promise<FirstRows> {
  const { ids, isFull } = await firstIds(q, streams, options.limit)
  const found = await readRows(q, sql`${givenIds(q, ids)} join sync_outbox o on o.outbox_id = given.outbox_id`)
  const known = await presentSubmissions(q, options.submissions ? found : [])
  const directionOf = await readDirections(q, found)
  const byStream = new Map<string, OutboxRow[]>()
  for (const row of found) {
    const key = `${row.account} ${row.stream}`
    const rows = byStream.get(key) ?? []
    byStream.set(key, rows)
    const submission = known.get(`${row.account} ${row.submission_id}`) ?? null
    rows.push(outboxRow(row, submission, directionOf.get(row.outbox_id) ?? null))
  }
  return { byStream, isFull }
}

const unqueued = {
  outbox_id: 'int',
  message_id: 'text',
  destination: 'text',
  account: 'text',
  stream: 'text',
  submission_id: 'text',
  entity: 'text',
  entity_id: 'text',
  operation: 'text',
  cause: 'text',
  seq: 'int',
  snapshot: 'text',
  left_filter: 'int',
} as const

/** A row that isn't in the outbox yet. */
type UnsentRow = QueuedChange & { readonly snapshot: object | null; readonly leftFilter?: boolean }

/**
 * Adds to rows what a sender would get now, such as content and mapping. The rows needn't be in the outbox. Writes
 * nothing.
 * @returns the rows. The `outboxId` of a row is its position in the given order, from 1.
 */
export async function rowsAsSent(q: Query, rows: readonly UnsentRow[], destination: string): Promise<OutboxRow[]> {
  const given = rows.map(({ messageId, account, submissionId, entity, entityId, operation, cause, seq, snapshot, leftFilter }, index) => ({
    outbox_id: index + 1,
    message_id: messageId,
    destination,
    account,
    stream: submissionId ?? '',
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

/**
 * Reads the delivered rows among these ids, in order, with everything that is needed to send a row. Doesn't
 * claim the rows.
 */
export async function deliveredRows(q: Query, outboxIds: readonly number[]): Promise<OutboxRow[]> {
  const taken = sql`${givenIds(q, outboxIds)} join sync_outbox o on o.outbox_id = given.outbox_id and o.state = 'delivered'`
  return await completed(q, await readRows(q, taken))
}

/**
 * Reads the content of an outbox row as a sender would get it now. A snapshot row itself stores its content.
 * @returns null if the outbox row doesn't exist.
 */
export async function contentOfOutboxRow(q: Query, outboxId: number): Promise<Pick<OutboxRow, 'changedAt' | 'before' | 'after'> | null> {
  const [row] = await readRows(q, sql`${givenIds(q, [outboxId])} join sync_outbox o on o.outbox_id = given.outbox_id`)
  return row === undefined ? null : outboxRow(row, null, null)
}

async function completed(q: Query, found: readonly Found[]): Promise<OutboxRow[]> {
  const known = await presentSubmissions(q, found)
  const directionOf = await readDirections(q, found)
  return found.map((row) =>
    outboxRow(row, known.get(`${row.account} ${row.submission_id}`) ?? null, directionOf.get(row.outbox_id) ?? null),
  )
}

async function readRows(q: Query, from: RawBuilder<unknown>): Promise<Found[]> {
  // On SQLite, the driver parses JSON columns. The `+` prevents this, so that the query returns the exact JSON text.
  const after = q.kind === 'sqlite' ? sql`+c.after` : sql`c.after`
  const rows = await q.all(sql<Found>`
    select o.stream, o.outbox_id, o.message_id, o.account, o.submission_id, o.entity, o.entity_id, o.operation, o.cause, o.seq, o.snapshot,
      o.attempts, o.status, o.uncertain, o.tried_at, o.progress, o.resent, o.left_filter, c.changed_at, c.before, ${after} as after, r.remote_id, m.client, m.policy, m.fields
    from ${from}
    left join changes c on c.seq = o.seq and o.snapshot is null
    left join sync_remote_ids r on ${sql.raw(itsRemoteId)}
    left join push_map m
      on m.destination = o.destination and m.account = o.account and m.submission_id = o.submission_id and ${namesClient}
    order by o.outbox_id`)
  if (q.kind === 'sqlite') for (const row of rows) readText(row)
  return rows
}

const columnsOf = decoderOfColumn('changes', 'after')

function readText(row: Found): void {
  const stored: unknown = row.after
  row.after = (columnsOf?.(stored as SqliteValue) ?? null) as Row | null
  if (typeof stored === 'string') row.after_text = stored
}

/** A table `given` of outbox ids for a `from` clause. All ids are one query parameter. */
function givenIds(q: Pick<Query, 'kind'>, outboxIds: readonly number[]): RawBuilder<unknown> {
  const json = JSON.stringify(outboxIds)
  if (q.kind === 'sqlite') return sql`(select value as outbox_id from json_each(${json})) as given`
  return sql`(select value::bigint as outbox_id from json_array_elements_text(${json}::json)) as given`
}

/** A subquery of outbox ids, for use after `in`. */
export function amongIds(q: Pick<Query, 'kind'>, outboxIds: readonly number[]): RawBuilder<number> {
  return sql<number>`(select outbox_id from ${givenIds(q, outboxIds)})`
}

/**
 * Reads the direction of each message: from the change if it contains the full message, otherwise from the mirror.
 * @returns directions by `outbox_id`.
 */
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

/** The row's content, from the change log or, for a snapshot row, from the outbox. */
function contentOf(row: Found): Content {
  if (row.snapshot === null) return isWhole(row.before) && isWhole(row.after) ? row : { changed_at: null, before: null, after: null }
  return { before: null, ...(JSON.parse(row.snapshot) as { changed_at: TimeText; after: Row }) }
}

/**
 * @returns whether the content is null or a JSON object. Any other JSON value means damage, such as a manual edit of
 * the change log.
 */
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

/**
 * Maximum size in bytes of the changes in one claim. Larger claims would block the event loop while they are parsed.
 * Several claims are in memory at the same time.
 */
const CLAIM_BYTES = 2 << 20

/** @returns the ids of the rows to claim. `isFull`: rows were left out because of the limit in bytes. */
async function firstIds(
  q: Query,
  streams: readonly StreamKey[],
  limit: number,
): Promise<{ readonly ids: readonly number[]; readonly isFull: boolean }> {
  const measured = await measureRows(q, streams, limit)
  const ids = oldestWithin(measured, CLAIM_BYTES)
  return { ids, isFull: ids.length < measured.length }
}

interface Measured {
  readonly outbox_id: number
  readonly bytes: number
}

/**
 * Measures the first `limit` ready rows of each stream. SQLite and Postgres need different queries to use the
 * index on streams.
 */
async function measureRows(q: Query, streams: readonly StreamKey[], limit: number): Promise<readonly Measured[]> {
  const given = givenStreams(q, streams)
  const ofStream = (columns: string) => sql`
    select ${sql.raw(columns)} from sync_outbox i where i.destination = given.destination and i.account = given.account
      and i.stream = given.stream and i.state = 'ready' order by i.outbox_id limit ${sql.lit(limit)}`
  const first =
    q.kind === 'postgres'
      ? sql`${given} cross join lateral (${ofStream('*')}) as o`
      : sql`${given} cross join sync_outbox o on o.outbox_id in (${ofStream('i.outbox_id')})`
  const bytes = sql.join(
    ['c.before', 'c.after', 'o.snapshot', 'o.progress'].map((column) => bytesOf(q, sql.ref(column))),
    sql` + `,
  )
  return await q.all(sql<Measured>`
    select o.outbox_id, ${bytes} as bytes from ${first} left join changes c on c.seq = o.seq and o.snapshot is null
    order by o.outbox_id`)
}

/** @returns the ids of the first rows that together have at most `limit` bytes; at least one id. */
function oldestWithin(rows: readonly Measured[], limit: number): number[] {
  let bytes = 0
  const tooMany = rows.findIndex((row, position) => {
    bytes += row.bytes
    return position > 0 && bytes > limit
  })
  return rows.slice(0, tooMany === -1 ? rows.length : tooMany).map((row) => row.outbox_id)
}

/**
 * SQL for the size of a value in bytes. On Postgres, uses the stored size of small values (less than 2,000 bytes).
 * Converting such a value to text is slower.
 */
function bytesOf(q: Query, column: RawBuilder<unknown>): RawBuilder<unknown> {
  if (q.kind === 'sqlite') return sql`coalesce(octet_length(${column}), 0)`
  return sql`coalesce(case when pg_column_size(${column}) < 2000 then pg_column_size(${column}) else octet_length(${column}::text) end, 0)`
}
