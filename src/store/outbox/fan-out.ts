import { type RawBuilder, sql } from 'kysely'
import type { Row } from '../../model/entity.ts'
import type { Json } from '../../model/json.ts'
import { type TimeText, timeFromMs } from '../../model/time.ts'
import { requireCheckedServer } from '../engine/checked-server.ts'
import type { Query, Tx } from '../engine/db.ts'
import { lockNamed } from '../engine/locks.ts'
import { wake } from '../engine/notify.ts'
import { rowLock } from '../engine/sql.ts'
import { purgedAmong } from '../reads/purged.ts'
import { syncOutbox } from '../schema/push.ts'
import { specWithout } from '../schema/table.ts'
import type { DestinationRow } from './destinations.ts'
import { lanesOf, openLanes } from './lanes.ts'
import type { QueuedChange } from './rows.ts'

/** The columns of a change that fan-out needs. The content stays in the log until it is sent. */
export interface FanOutChange {
  readonly seq: number
  readonly account: string
  readonly submission_id: string | null
  readonly entity: string
  readonly entity_id: string
  readonly operation: string
  readonly cause: string
  /** `type` and `occurred_at` of the record, when the change contains them. */
  readonly event_type: string | null
  readonly occurred_at: TimeText | null
  /** A purge has emptied it: there is nothing left to send. */
  readonly isEmptied?: boolean
}

/** A row to insert into the outbox. */
export interface NewOutboxRow extends QueuedChange {
  readonly destination: string
  /** The content of a snapshot row; null for a change, whose content is in the log. */
  readonly snapshot: { readonly changed_at: TimeText; readonly after: Row } | null
  /** It may have been sent before, by a database that was lost; see log-epoch.ts. */
  readonly uncertain: boolean
  /** Sent again because an operator asked for it. */
  readonly resent?: 'same' | 'new'
  /** With this the record ceases to pass the `filter` of the destination. */
  readonly leftFilter?: true
}

const outbox = specWithout(syncOutbox, 'outbox_id')

export const FAN_OUT = 'fan-out'

/**
 * Makes this transaction the only one that fans out until it ends. On Postgres several processes try.
 * @throws LogMovedError after a switch to another server, until the change log has been checked.
 */
export async function lockFanOut(tx: Tx): Promise<void> {
  await requireCheckedServer(tx)
  await lockNamed(tx, FAN_OUT)
}

/**
 * The changes behind `seq`, in order, up to `limit`, without gaps (invariant 9). A change damaged by hand is like any other here; its damage
 * is detected when it is sent.
 */
export async function changesToFanOut(q: Query, seq: number, limit: number): Promise<FanOutChange[]> {
  return await changesOf(q, sql`where seq > ${seq} order by seq limit ${sql.lit(limit)}`)
}

/** @param which the rest of the statement. */
export async function changesOf(q: Query, which: RawBuilder<unknown>): Promise<(FanOutChange & { readonly isEmptied: boolean })[]> {
  // As text: on Postgres a json value has no equality.
  const after = q.kind === 'sqlite' ? sql`after` : sql`after::text`
  const { rows } = await sql<FanOutChange & { emptied: number }>`
    select ${fanOutColumns(q)}, case when operation <> 'purged' and before is null and ${after} = '{}' then 1 else 0 end as emptied
    from changes ${which}`.execute(q.sql)
  return rows.map(({ emptied, ...change }) => ({ ...change, isEmptied: Number(emptied) === 1 }))
}

/** The newest changes of a submission before `seq`, in order, up to `limit`. */
export async function changesOfSubmission(q: Query, { account, submission_id, seq }: FanOutChange, limit: number): Promise<FanOutChange[]> {
  const { rows } = await sql<FanOutChange>`
    select ${fanOutColumns(q)} from changes where account = ${account} and submission_id = ${submission_id} and seq < ${seq}
    order by seq desc limit ${sql.lit(limit)}`.execute(q.sql)
  return rows.toReversed()
}

/** The columns of FanOutChange. */
function fanOutColumns(q: Pick<Query, 'kind'>): RawBuilder<unknown> {
  const after = q.kind === 'sqlite' ? sql`(case when json_valid(after) then after end)` : sql`after`
  return sql`
    seq, account, submission_id, entity, entity_id, operation, cause,
      case when entity = 'market_events' then ${after} ->> 'type' end as event_type,
      case when entity in ('market_events', 'thread_messages') then ${after} ->> 'occurred_at' end as occurred_at`
}

/** The epoch of the change log and its newest number. */
export interface LogEnd {
  readonly logEpoch: string
  readonly lastSeq: number
}

/**
 * The end of the change log, locked: nobody appends until this transaction ends. Up to there the mirror shows exactly what the log says,
 * because a transaction that changed rows but has not logged them is not visible yet.
 */
export async function lockLogEnd(tx: Tx): Promise<LogEnd> {
  const hold = rowLock(tx, 'for share')
  const { rows } = await sql<{ log_epoch: string; last_seq: number }>`
    select log_epoch, last_seq from mirror_info where id = 1 ${hold}`.execute(tx.sql)
  const [row] = rows
  if (!row) throw new Error('mirror_info has no row')
  return { logEpoch: row.log_epoch, lastSeq: row.last_seq }
}

/** A destination's new cursor. `snapshot` undefined keeps its progress. `filtered`: changes that its `filter` left out on the way. */
export interface CursorMove {
  readonly destination: string
  readonly cursor: number
  readonly snapshot?: DestinationRow['snapshot']
  readonly filtered?: number
}

/**
 * Inserts rows into the outbox in their order and moves the cursors, in one transaction (invariant 3). The last thing it does. Of a purged
 * submission only its purge is queued. A purge takes the lock of `lockFanOut`, too, before it deletes what was queued before.
 */
export async function queueRows(tx: Tx, all: readonly NewOutboxRow[], moves: readonly CursorMove[]): Promise<void> {
  const queuedAt = timeFromMs(tx.clock.now())
  const rows = await withoutPurged(tx, all)
  const given = rows.map((row) => givenOf(row, queuedAt))
  await insertInOrder(tx, given)
  await openLanes(tx, lanesOf(given))
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
  const named = rows.flatMap(({ account, submissionId, operation }) =>
    submissionId === null || operation === 'purged'
      ? []
      : [[`${account} ${submissionId}`, { account, submission_id: submissionId }] as const],
  )
  const purged = await purgedAmong(tx, [...new Map(named).values()])
  if (purged.size === 0) return rows
  return rows.filter(({ account, submissionId, operation }) => operation === 'purged' || !purged.has(`${account} ${submissionId}`))
}

type GivenRow = Row & { destination: string; account: string; lane: string }

function givenOf(row: NewOutboxRow, queuedAt: TimeText): GivenRow {
  return {
    destination: row.destination,
    account: row.account,
    lane: row.submissionId ?? `entity:${row.entity}`,
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

/** Inserts so that `outbox_id`, the order of sending, follows the order of `rows`. */
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
  await sql`
    insert into sync_outbox (${sql.join(columns.map((column) => sql.ref(column)))})
    select ${sql.join(picked)} from json_to_recordset(${JSON.stringify(placed)}::json) as given(place bigint, ${sql.join(typed)})
    order by place`.execute(tx.sql)
}

/** Types of the given rows on Postgres; columns of other kinds are text. */
const GIVEN_TYPE: Readonly<Record<string, string>> = { int: 'bigint', time: 'timestamptz' }
