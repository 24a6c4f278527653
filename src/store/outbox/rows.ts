import { type RawBuilder, sql } from 'kysely'
import { toldRow } from '../../model/damaged.ts'
import { submissions as submissionsEntity } from '../../model/entities/submissions.ts'
import type { Row } from '../../model/entity.ts'
import { isObject } from '../../model/json.ts'
import type { TimeText } from '../../model/time.ts'
import type { Query, TableSpec } from '../engine/db.ts'
import { decoderOfColumn, type SqliteValue } from '../schema/codec.ts'
import { givenLanes, type LaneKey } from './lanes.ts'
import { namesClient } from './push-map.ts'

/** Why a change of a record is skipped whose id at the target is not known: the `error` of its row, by which it is found again. */
export const ID_NOT_KNOWN =
  "not sent: the target's id of the record is not known, because its insert was left out, was never taken, or was taken without an id"

/** A row of the outbox, with all that sending it needs. Nothing personal was left out yet. */
export interface OutboxRow {
  readonly outboxId: number
  readonly messageId: string
  readonly account: string
  readonly submissionId: string | null
  readonly entity: string
  readonly entityId: string
  readonly operation: string
  readonly cause: string
  readonly seq: number
  readonly snapshot: boolean
  /** Empty when somebody has deleted the change from the log, or damaged it: then there is nothing to send. */
  readonly changedAt: TimeText
  readonly before: Row | null
  readonly after: Row | null
  /** `after` as JSON, letter by letter as it stands in the log; null where the database gives no text of it. */
  readonly afterText: string | null
  /** Tries that have ended. */
  readonly attempts: number
  /** What the last of them was answered with; null when there was none, or no answer. */
  readonly status: number | null
  /** As it was before this claim: a try was begun once, and nobody knows how it ended. */
  readonly uncertain: boolean
  readonly remoteId: string | null
  readonly mapping: { readonly client: string; readonly policy: string | null; readonly fields: Readonly<Record<string, string>> } | null
  /** The submission's row as it is now, without `raw`; null when there is none, or it was not asked for. */
  readonly submission: Row | null
  /** Of a message, `thread_messages.direction` as the service says it: `inbound` was written by the brokerage. Else null. */
  readonly direction: string | null
}

const submissions: TableSpec = {
  ...submissionsEntity,
  columns: Object.fromEntries(Object.entries(submissionsEntity.columns).filter(([column]) => column !== 'raw')),
}

const directions: TableSpec = {
  table: 'thread_messages',
  key: ['account', 'submission_id', 'message_id'],
  columns: { account: 'text', submission_id: 'text', message_id: 'text', direction: 'text' },
}

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
  changed_at: TimeText | null
  before: Row | null
  after: Row | null
  after_text?: string
  remote_id: string | null
  client: string | null
  policy: string | null
  fields: Record<string, string> | null
}

/**
 * What the changes of one claim may have together, in bytes: all of them are parsed at once, for which the event loop stands still, and the
 * rows of several claims wait in memory.
 */
const CLAIM_BYTES = 2 << 20

/** First rows of lanes. */
export interface FirstRows {
  /** By lane: `account lane`. Lanes of which there is none are not there. */
  readonly byLane: ReadonlyMap<string, OutboxRow[]>
  /** Whether some were left out, because all of them would be more bytes than are read together. */
  readonly isFull: boolean
}

/**
 * @param options `submissions`: whether they are read as well.
 * @returns the first `limit` ready rows of each lane, in their order; of all lanes together the oldest, as many as may be read together,
 * and at least one.
 */
export async function firstRows(
  q: Query,
  lanes: readonly LaneKey[],
  options: { readonly limit: number; readonly submissions: boolean },
): Promise<FirstRows> {
  const measured = await measureRows(q, lanes, options.limit)
  const ids = oldestWithin(measured, CLAIM_BYTES)
  const found = await readRows(q, ids)
  const known = await readSubmissions(q, options.submissions ? found : [])
  const directionOf = await readDirections(q, found)
  const byLane = new Map<string, OutboxRow[]>()
  for (const row of found) {
    const key = `${row.account} ${row.lane}`
    const rows = byLane.get(key) ?? []
    byLane.set(key, rows)
    const submission = known.get(`${row.account} ${row.submission_id}`) ?? null
    rows.push(outboxRow(row, submission, directionOf.get(row.outbox_id) ?? null))
  }
  return { byLane, isFull: ids.length < measured.length }
}

/** A row, and how many bytes its change has. */
interface Measured {
  readonly outbox_id: number
  readonly bytes: number
}

/** Each database in the way that makes it go from lane to rows by the index, however many rows there are. */
async function measureRows(q: Query, lanes: readonly LaneKey[], limit: number): Promise<readonly Measured[]> {
  const given = givenLanes(q, lanes)
  const ofLane = (columns: string) => sql`
    select ${sql.raw(columns)} from sync_outbox i where i.destination = given.destination and i.account = given.account
      and i.lane = given.lane and i.state = 'ready' order by i.outbox_id limit ${sql.lit(limit)}`
  const first =
    q.kind === 'postgres'
      ? sql`${given} cross join lateral (${ofLane('*')}) as o`
      : sql`${given} cross join sync_outbox o on o.outbox_id in (${ofLane('i.outbox_id')})`
  const bytes = sql.join(
    ['c.before', 'c.after', 'o.snapshot'].map((column) => bytesOf(q, sql.ref(column))),
    sql` + `,
  )
  const { rows } = await sql<Measured>`
    select o.outbox_id, ${bytes} as bytes from ${first} left join changes c on c.seq = o.seq and o.snapshot is null
    order by o.outbox_id`.execute(q.sql)
  return rows
}

/** @returns the ids of the first of the rows, as many as have no more than `limit` bytes together, and at least one if there is any. */
function oldestWithin(rows: readonly Measured[], limit: number): number[] {
  let bytes = 0
  const tooMany = rows.findIndex((row, position) => {
    bytes += row.bytes
    return position > 0 && bytes > limit
  })
  return rows.slice(0, tooMany === -1 ? rows.length : tooMany).map((row) => row.outbox_id)
}

/** The length of a text, or of a value as text; without reading it where the database knows that it is short, or how long it is. */
function bytesOf(q: Query, column: RawBuilder<unknown>): RawBuilder<unknown> {
  if (q.kind === 'sqlite') return sql`coalesce(octet_length(${column}), 0)`
  return sql`coalesce(case when pg_column_size(${column}) < 2000 then pg_column_size(${column}) else octet_length(${column}::text) end, 0)`
}

async function readRows(q: Query, outboxIds: readonly number[]): Promise<Found[]> {
  // Of a term, which is no column, SQLite tells the text, and nothing is read out of it.
  const after = q.kind === 'sqlite' ? sql`+c.after` : sql`c.after`
  const { rows } = await sql<Found>`
    select o.lane, o.outbox_id, o.message_id, o.account, o.submission_id, o.entity, o.entity_id, o.operation, o.cause, o.seq, o.snapshot,
      o.attempts, o.status, o.uncertain, c.changed_at, c.before, ${after} as after, r.remote_id, m.client, m.policy, m.fields
    from ${givenIds(q, outboxIds)} join sync_outbox o on o.outbox_id = given.outbox_id
    left join changes c on c.seq = o.seq and o.snapshot is null
    left join sync_remote_ids r
      on r.destination = o.destination and r.account = o.account and r.entity = o.entity and r.entity_id = o.entity_id
    left join push_map m
      on m.destination = o.destination and m.account = o.account and m.submission_id = o.submission_id and ${namesClient}
    order by o.outbox_id`.execute(q.sql)
  if (q.kind === 'sqlite') for (const row of rows) readText(row)
  return rows
}

const columnsOf = decoderOfColumn('changes', 'after')

/** Reads the columns out of the text that came in their place, and keeps it. */
function readText(row: Found): void {
  const stored: unknown = row.after
  row.after = (columnsOf?.(stored as SqliteValue) ?? null) as Row | null
  if (typeof stored === 'string') row.after_text = stored
}

/** Rows of the outbox by their ids, to stand in a `from` clause under the name `given`. */
function givenIds(q: Pick<Query, 'kind'>, outboxIds: readonly number[]): RawBuilder<unknown> {
  const json = JSON.stringify(outboxIds)
  if (q.kind === 'sqlite') return sql`(select value as outbox_id from json_each(${json})) as given`
  return sql`(select value::bigint as outbox_id from json_array_elements_text(${json}::json)) as given`
}

/** The same behind `in`: one parameter, however many there are. */
export function amongIds(q: Pick<Query, 'kind'>, outboxIds: readonly number[]): RawBuilder<number> {
  return sql<number>`(select outbox_id from ${givenIds(q, outboxIds)})`
}

async function readSubmissions(q: Query, found: readonly Found[]): Promise<ReadonlyMap<string, Row>> {
  const keys = new Map(
    found.flatMap(({ account, submission_id }) =>
      submission_id === null ? [] : [[`${account} ${submission_id}`, { account, submission_id } as Row]],
    ),
  )
  const rows = await q.selectMany(submissions, [...keys.values()])
  return new Map(rows.map((row) => [`${row['account']} ${row['submission_id']}`, toldRow(row)]))
}

/** Who wrote a message stands in a change only when all of it does. @returns by `outbox_id`. */
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
  const looked = new Map(
    rows.map((row) => [messageText(String(row['account']), JSON.stringify([row['submission_id'], row['message_id']])), row]),
  )
  for (const row of messages) {
    const direction = looked.get(messageText(row.account, row.entity_id))?.['direction']
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

/** What a change says stands in the log, what a row of a snapshot says in the outbox. */
function contentOf(row: Found): Content {
  if (row.snapshot === null) return isWhole(row.before) && isWhole(row.after) ? row : { changed_at: null, before: null, after: null }
  return { before: null, ...(JSON.parse(row.snapshot) as { changed_at: TimeText; after: Row }) }
}

/** What a hand has written into a change in place of columns is told as text or a number. */
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
    // Retention keeps the log as long as something of it waits here.
    changedAt: changed_at ?? '',
    before,
    after,
    afterText: after_text,
    attempts: row.attempts,
    status: row.status,
    uncertain: row.uncertain !== 0,
    remoteId: row.remote_id,
    mapping: row.client === null ? null : { client: row.client, policy: row.policy, fields: row.fields ?? {} },
    submission,
    direction,
  }
}
