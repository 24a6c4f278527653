import { type RawBuilder, sql } from 'kysely'
import type { Row } from '../../model/entity.ts'
import type { Json } from '../../model/json.ts'
import { type TimeText, timeFromMs } from '../../model/time.ts'
import { requireCheckedServer } from '../engine/checked-server.ts'
import type { Query, Tx } from '../engine/db.ts'
import { lockNamed } from '../engine/locks.ts'
import { wake } from '../engine/notify.ts'
import { rowLock } from '../engine/sql.ts'
import { purgedAmong, submissionKeys } from '../reads/purged.ts'
import { syncOutbox } from '../schema/push.ts'
import { specWithout } from '../schema/table.ts'
import type { DestinationRow } from './destinations.ts'
import type { QueuedChange } from './rows.ts'
import { openStreams, streamsOf } from './streams.ts'

/**
 * The columns of a change that fan-out reads. Fan-out adds each change to the outbox of each destination. The outbox
 * refers to the change's content, which stays in the change log.
 */
export interface FanOutChange {
  readonly seq: number
  readonly account: string
  readonly submission_id: string | null
  readonly entity: string
  readonly entity_id: string
  readonly operation: string
  readonly cause: string
  readonly event_type: string | null
  readonly occurred_at: TimeText | null
  /** Whether a purge emptied this change. */
  readonly isEmptied?: boolean
}

export interface NewOutboxRow extends QueuedChange {
  readonly destination: string
  /** Content of a snapshot row. Null for a change, because its content is in the change log. */
  readonly snapshot: { readonly changed_at: TimeText; readonly after: Row } | null
  /** True if the row may already have been sent from a database that was later lost; see `changes/log-epoch.ts`. */
  readonly uncertain: boolean
  /** Set if an operator resends the change. `same`: with the earlier message id. `new`: with a new message id. */
  readonly resent?: 'same' | 'new'
  /** True if this change makes the record stop matching the destination's `filter`. */
  readonly leftFilter?: true
}

const outbox = specWithout(syncOutbox, 'outbox_id')

export const FAN_OUT = 'fan-out'

/**
 * Prevents fan-out in other transactions until this transaction ends.
 * @throws LogMovedError after a switch to another database server, until the change log is checked.
 */
export async function lockFanOut(tx: Tx): Promise<void> {
  await requireCheckedServer(tx)
  await lockNamed(tx, FAN_OUT)
}

/**
 * Reads up to `limit` changes after `seq`, ascending, without gaps. Doesn't detect damaged content; the sender does.
 */
export async function changesToFanOut(q: Query, seq: number, limit: number): Promise<FanOutChange[]> {
  return await changesOf(q, sql`where seq > ${seq} order by seq limit ${sql.lit(limit)}`)
}

/** Reads the changes that a `where` clause selects. @param which the clause, with `order by` and `limit`. */
export async function changesOf(q: Query, which: RawBuilder<unknown>): Promise<(FanOutChange & { readonly isEmptied: boolean })[]> {
  // On Postgres, `after` is jsonb. Convert it to text to compare it with '{}'.
  const after = q.kind === 'sqlite' ? sql`after` : sql`after::text`
  const rows = await q.all(sql<FanOutChange & { emptied: number }>`
    select ${fanOutColumns(q)}, case when operation <> 'purged' and before is null and ${after} = '{}' then 1 else 0 end as emptied
    from changes ${which}`)
  return rows.map(({ emptied, ...change }) => ({ ...change, isEmptied: emptied === 1 }))
}

/** Reads the newest changes of a submission before `seq`, up to `limit`, ascending. */
export async function changesOfSubmission(q: Query, { account, submission_id, seq }: FanOutChange, limit: number): Promise<FanOutChange[]> {
  const rows = await q.all(sql<FanOutChange>`
    select ${fanOutColumns(q)} from changes where account = ${account} and submission_id = ${submission_id} and seq < ${seq}
    order by seq desc limit ${sql.lit(limit)}`)
  return rows.toReversed()
}

function fanOutColumns(q: Pick<Query, 'kind'>): RawBuilder<unknown> {
  const after = q.kind === 'sqlite' ? sql`(case when json_valid(after) then after end)` : sql`after`
  return sql`
    seq, account, submission_id, entity, entity_id, operation, cause,
      case when entity = 'market_events' then ${after} ->> 'type' end as event_type,
      case when entity in ('market_events', 'thread_messages') then ${after} ->> 'occurred_at' end as occurred_at`
}

export interface LogEnd {
  readonly logEpoch: string
  readonly lastSeq: number
}

/**
 * Reads the end of the change log and locks the log until the transaction ends. During that time, the mirror contains
 * exactly the changes up to this end.
 */
export async function lockLogEnd(tx: Tx): Promise<LogEnd> {
  const row = await tx.one(sql<{ log_epoch: string; last_seq: number }>`
    select log_epoch, last_seq from mirror_info where id = 1 ${rowLock(tx, 'for share')}`)
  if (!row) throw new Error('mirror_info has no row')
  return { logEpoch: row.log_epoch, lastSeq: row.last_seq }
}

/**
 * A destination's new cursor. `snapshot`: the snapshot's new progress; undefined keeps the stored progress. `filtered`:
 * number of changes that the destination's `filter` excluded since the previous cursor.
 */
export interface CursorMove {
  readonly destination: string
  readonly cursor: number
  readonly snapshot?: DestinationRow['snapshot']
  readonly filtered?: number
}

/**
 * Inserts rows into the outbox in the given order, and moves the destinations' cursors. Call this last in the
 * transaction. For a purged submission, inserts only rows with the operation `purged`. A purge deletes a submission's
 * queued rows under the lock of `lockFanOut`, so fan-out can't add rows after the purge.
 */
export async function queueRows(tx: Tx, all: readonly NewOutboxRow[], moves: readonly CursorMove[]): Promise<void> {
  const queuedAt = timeFromMs(tx.clock.now())
  const rows = await withoutPurged(tx, all)
  const given = rows.map((row) => givenOf(row, queuedAt))
  await insertInOrder(tx, given)
  await openStreams(tx, streamsOf(given))
  for (const { destination, cursor, snapshot, filtered = 0 } of [...moves].sort((a, b) => (a.destination < b.destination ? -1 : 1))) {
    const progress = snapshot === undefined ? {} : { snapshot: snapshot === null ? null : JSON.stringify(snapshot) }
    await tx.sql
      .updateTable('sync_destinations')
      .set({ cursor, ...progress, ...(filtered > 0 && { filtered: sql`filtered + ${filtered}` }) })
      .where('destination', '=', destination)
      .execute()
  }
  if (rows.length > 0) wake(tx, 'outbox')
}

async function withoutPurged(tx: Tx, rows: readonly NewOutboxRow[]): Promise<readonly NewOutboxRow[]> {
  const purged = await purgedAmong(tx, submissionKeys(rows.filter(({ operation }) => operation !== 'purged')))
  if (purged.size === 0) return rows
  return rows.filter(({ account, submissionId, operation }) => operation === 'purged' || !purged.has(`${account} ${submissionId}`))
}

type GivenRow = Row & { destination: string; account: string; stream: string }

function givenOf(row: NewOutboxRow, queuedAt: TimeText): GivenRow {
  return {
    destination: row.destination,
    account: row.account,
    stream: row.submissionId ?? `entity:${row.entity}`,
    submission_id: row.submissionId,
    entity: row.entity,
    entity_id: row.entityId,
    operation: row.operation,
    cause: row.cause,
    seq: row.seq,
    snapshot: row.snapshot === null ? null : JSON.stringify(row.snapshot),
    message_id: row.messageId,
    state: 'ready',
    attempts: 0,
    uncertain: row.uncertain ? 1 : 0,
    queued_at: queuedAt,
    resent: row.resent ?? null,
    left_filter: row.leftFilter === true ? 1 : null,
  }
}

/** Inserts rows so that their `outbox_id` ascends in the given order. Rows are sent in the order of `outbox_id`. */
async function insertInOrder(tx: Tx, rows: readonly GivenRow[]): Promise<void> {
  if (rows.length === 0) return
  if (tx.kind === 'sqlite') {
    await tx.insertMany(outbox, rows)
    return
  }
  const columns = Object.keys(outbox.columns)
  const placed = rows.map((row, place): Json => ({ place, ...row }))
  const typed = columns.map((column) => sql`${sql.ref(column)} ${sql.raw(GIVEN_TYPE[outbox.columns[column] ?? 'text'] ?? 'text')}`)
  const picked = columns.map((column) => (column === 'snapshot' ? sql`snapshot::json` : sql.ref(column)))
  await tx.run(sql`
    insert into sync_outbox (${sql.join(columns.map((column) => sql.ref(column)))})
    select ${sql.join(picked)} from json_to_recordset(${JSON.stringify(placed)}::json) as given(place bigint, ${sql.join(typed)})
    order by place`)
}

/** Postgres types for kinds of columns. Columns of all other kinds are inserted as text. */
const GIVEN_TYPE: Readonly<Record<string, string>> = { int: 'bigint', time: 'timestamptz' }
