import { type RawBuilder, sql } from 'kysely'
import { type TimeText, timeFromMs } from '../../model/time.ts'
import type { Db, Query, Tx } from '../engine/db.ts'
import { lockNamed } from '../engine/locks.ts'
import { timeValue } from '../engine/sql.ts'
import { hasNoOptionsBut } from '../reconcile/runs.ts'
import { oldestNeeded, RESENT, stopped } from './needed-changes.ts'
import { renewUpkeep, type UpkeepLease } from './upkeep.ts'

/** One small transaction of retention, and its result. */
export interface RetentionStep {
  /** Rows deleted, or emptied of their body. */
  readonly removed: number
  /** Where the next step begins; null at the end. */
  readonly next: number | null
  /** Duration of its statements, without the wait for a turn and for the disk: fewer rows would not shorten those. */
  readonly workedMs: number
}

/** Input of every step. */
export interface StepInput {
  readonly lease: UpkeepLease
  /** Removes what arrived or was settled before this time. */
  readonly before: TimeText
  /** Rows to look at. */
  readonly limit: number
  /** Where the last step ended; 0 at first. */
  readonly after: number
}

/** Limit of bytes freed per transaction, apart from the last row: a body may have megabytes. */
const MAX_BYTES = 4 << 20

/** A time further in the future than this comes from a wrong clock; smaller differences between machines pass by themselves. */
const AHEAD_MS = 86_400_000

type Work = (tx: Tx) => Promise<Omit<RetentionStep, 'workedMs'>>

/** @throws LeaseLostError when another process has taken over. */
function step(db: Db, lease: UpkeepLease, work: Work): Promise<RetentionStep> {
  const timed = async (tx: Tx): Promise<RetentionStep> => {
    const startedAt = performance.now()
    await renewUpkeep(tx, lease)
    const done = await work(tx)
    return { ...done, workedMs: performance.now() - startedAt }
  }
  return db.write('retention', timed, { onWorkerThread: true })
}

/**
 * Trims the next old deliveries in order of arrival: settled ones lose body and headers and keep their ids, so that a repeated delivery is
 * recognised. Unsettled ones are noted for `trimLeftOver`. The position is stored with the lease.
 */
export function trimInbox(db: Db, { lease, before, limit, after }: StepInput): Promise<RetentionStep> {
  return step(db, lease, async (tx) => {
    const last = await lastOld(
      tx,
      sql`inbox_id as id, ${isPassed(tx, 'received_at', before)} as old, ${BODY_BYTES} as bytes
      from sync_inbox where inbox_id > ${after} order by inbox_id limit ${sql.lit(limit)}`,
    )
    await renewUpkeep(tx, lease, last ?? after)
    if (last === null) return { removed: 0, next: null }
    const range = sql`inbox_id > ${after} and inbox_id <= ${last}`
    const removed = await relieve(tx, range, before)
    await sql`
      insert into sync_inbox_left (inbox_id) select inbox_id from sync_inbox where ${range} and body is not null
      on conflict do nothing`.execute(tx.sql)
    return { removed, next: last }
  })
}

/** Trims deliveries that were not settled when `trimInbox` passed them. */
export function trimLeftOver(db: Db, { lease, before, limit, after }: StepInput): Promise<RetentionStep> {
  return step(db, lease, async (tx) => {
    const last = await lastOld(
      tx,
      sql`l.inbox_id as id, 1 as old, ${BODY_BYTES} as bytes
      from sync_inbox_left l left join sync_inbox i on i.inbox_id = l.inbox_id
      where l.inbox_id > ${after} order by l.inbox_id limit ${sql.lit(limit)}`,
    )
    if (last === null) return { removed: 0, next: null }
    const left = sql`sync_inbox_left where inbox_id > ${after} and inbox_id <= ${last}`
    const removed = await relieve(tx, sql`inbox_id in (select inbox_id from ${left})`, before)
    await sql`
      delete from ${left} and not exists (
        select 1 from sync_inbox i where i.inbox_id = sync_inbox_left.inbox_id and i.body is not null)`.execute(tx.sql)
    return { removed, next: last }
  })
}

async function relieve(tx: Tx, range: ReturnType<typeof sql>, before: TimeText): Promise<number> {
  const { numAffectedRows } = await sql`
    update sync_inbox set body = null, headers = '{}'
    where ${range} and state in ('done', 'aside') and ${isBefore(tx, 'received_at', before)} and body is not null`.execute(tx.sql)
  return Number(numAffectedRows ?? 0)
}

/** Deletes rejected deliveries. */
export function removeRejected(db: Db, input: StepInput): Promise<RetentionStep> {
  const which = (tx: Tx) => isBefore(tx, 'received_at', input.before)
  return removeNext(db, input, { table: 'sync_rejected', id: 'rejected_id', time: 'received_at', bytes: BODY_BYTES, which })
}

/** Deletes delivered and skipped outbox rows. Rows that may still be sent, or need a person, stay. */
export function removePushed(db: Db, input: StepInput): Promise<RetentionStep> {
  const which = (tx: Tx) => sql`state in ('delivered', 'skipped') and ${isBefore(tx, 'settled_at', input.before)}`
  return removeNext(db, input, { table: 'sync_outbox', id: 'outbox_id', time: 'queued_at', bytes: sql`0`, which })
}

/** A table that retention passes in the order of its numbers. */
interface Passed {
  readonly table: string
  readonly id: string
  readonly time: string
  /** What a row frees. */
  readonly bytes: RawBuilder<unknown>
  /** Which of the rows that are passed go. */
  readonly which: (tx: Tx) => RawBuilder<unknown>
}

function removeNext(db: Db, { lease, before, limit, after }: StepInput, { table, id, time, bytes, which }: Passed): Promise<RetentionStep> {
  return step(db, lease, async (tx) => {
    const [from, number] = [sql.table(table), sql.ref(id)]
    const last = await lastOld(
      tx,
      sql`${number} as id, ${isPassed(tx, time, before)} as old, ${bytes} as bytes
      from ${from} where ${number} > ${after} order by ${number} limit ${sql.lit(limit)}`,
    )
    if (last === null) return { removed: 0, next: null }
    const { numAffectedRows } = await sql`
      delete from ${from} where ${number} > ${after} and ${number} <= ${last} and ${which(tx)}`.execute(tx.sql)
    return { removed: Number(numAffectedRows ?? 0), next: last }
  })
}

/**
 * Deletes the oldest changes without leaving gaps, and moves `mirror_info.first_seq` along. It stops before anything that a configured
 * destination has still to get and before any push that may still be made. A step begins where the last one ended: on Postgres rows that were
 * deleted stay in the index until they are vacuumed, and would all be passed again. Skipped pushes are deleted with their changes: without those
 * nobody could retry them.
 * @param destinations those of the settings; nothing is kept for others.
 */
export function removeChanges(db: Db, { lease, before, limit, after }: StepInput, destinations: readonly string[]): Promise<RetentionStep> {
  return step(db, lease, async (tx) => {
    // Without the lock, a change that is being sent again could be removed before its new outbox row is visible.
    await lockNamed(tx, 'fan-out')
    const isYoung = sql`changed_at between ${timeValue(tx, before)} and ${timeValue(tx, timeFromMs(tx.clock.now()))}`
    const { rows } = await sql<{ seq: number; old: unknown; young: unknown }>`
      select seq, ${isBefore(tx, 'changed_at', before)} as old, ${isYoung} as young
      from changes where seq > ${after} order by seq limit ${sql.lit(limit)}`.execute(tx.sql)
    const removable = async () => {
      const needed = await oldestNeeded(tx, destinations)
      const firstKept = rows.findIndex(({ seq, young }) => Boolean(young) || seq >= needed)
      const passed = firstKept === -1 ? rows : rows.slice(0, firstKept)
      // A row dated into the future by a wrong clock is older than the rows that follow it.
      return passed.slice(0, passed.findLastIndex(({ old }) => Boolean(old)) + 1)
    }
    const upTo = (await removable()).at(-1)?.seq
    if (upTo === undefined) return { removed: 0, next: null }
    await removeSkipped(tx, upTo, limit)
    // Checked again, because a retry may have made a row ready. No further than before: a newer change may have a row that was just skipped.
    const gone = (await removable()).filter(({ seq }) => seq <= upTo)
    const last = gone.at(-1)?.seq
    if (last === undefined) return { removed: 0, next: null }
    await sql`delete from changes where seq > ${after} and seq <= ${last}`.execute(tx.sql)
    // Last, like appending to the log: the row is locked only for a moment.
    await tx.sql
      .updateTable('mirror_info')
      .set({ first_seq: last + 1 })
      .where('id', '=', 1)
      .execute()
    return { removed: gone.length, next: last }
  })
}

/** Of what is sent the first time, a destination has at most one row per change, so the oldest `limit` rows of each cover as many changes. */
async function removeSkipped(tx: Tx, upTo: number, limit: number): Promise<void> {
  for (const { destination } of await tx.sql.selectFrom('sync_destinations').select('destination').execute()) {
    await sql`
      delete from sync_outbox where seq <= ${upTo} and state = 'skipped' and outbox_id in (
        select outbox_id from sync_outbox where destination = ${destination} and ${sql.raw(stopped('skipped'))} and snapshot is null
        order by outbox_id limit ${sql.lit(limit)})`.execute(tx.sql)
    await sql`
      delete from sync_outbox where outbox_id in (
        select outbox_id from sync_outbox where destination = ${destination} and ${sql.raw(RESENT)} and seq <= ${upTo} and state = 'skipped'
        limit ${sql.lit(limit)})`.execute(tx.sql)
  }
}

/**
 * Deletes findings of reconcile runs; the runs stay. Only once a later complete run has ended: it has reported again whatever still stands,
 * and remembers that it was reported before.
 */
export function removeFindings(db: Db, { lease, before, limit }: StepInput): Promise<RetentionStep> {
  return step(db, lease, (tx) =>
    removeSome(
      tx,
      limit,
      sql`
      delete from reconcile_findings where (run_id, finding_no) in (
        select run_id, finding_no from reconcile_findings where run_id in (
          select r.run_id from reconcile_runs r where ${isBefore(tx, 'r.ended_at', before)} and exists (
            select 1 from reconcile_runs later where later.account = r.account and later.requested_at > r.requested_at
              and later.state = 'done' and ${hasNoOptionsBut(tx, 'later.options', ['concurrency', 'dry_run'])}))
        limit ${sql.lit(limit)})`,
    ),
  )
}

/** Deletes what targets answered when they were asked for what they took. */
export function removeVerifications(db: Db, { lease, before, limit }: StepInput): Promise<RetentionStep> {
  return step(db, lease, (tx) =>
    removeSome(
      tx,
      limit,
      sql`
      delete from sync_push_verifications where (destination, account, message_id) in (
        select destination, account, message_id from sync_push_verifications where ${isBefore(tx, 'verified_at', before)}
        order by verified_at limit ${sql.lit(limit)})`,
    ),
  )
}

/** Deletes times at which alarms fired and that are over. */
export function removeEpisodes(db: Db, { lease, before, limit }: StepInput): Promise<RetentionStep> {
  return step(db, lease, (tx) =>
    removeSome(
      tx,
      limit,
      sql`
      delete from alarm_history where episode_id in (
        select episode_id from alarm_history where ${isBefore(tx, 'resolved_at', before)} order by episode_id limit ${sql.lit(limit)})`,
    ),
  )
}

/** @param statement deletes up to `limit` rows. */
async function removeSome(tx: Tx, limit: number, statement: RawBuilder<unknown>): Promise<Omit<RetentionStep, 'workedMs'>> {
  const removed = Number((await statement.execute(tx.sql)).numAffectedRows ?? 0)
  return { removed, next: removed < limit ? null : 0 }
}

const BODY_BYTES = sql`coalesce(length(body), 0)`

/**
 * @param rows selects `id`, `old` (see `isPassed`) and `bytes` of the next rows.
 * @returns the id up to which rows are handled: the last old one, or less when that would free too much; null when none is old.
 */
async function lastOld(tx: Tx, rows: RawBuilder<unknown>): Promise<number | null> {
  let last: number | null = null
  let bytes = 0
  for (const row of (await sql<{ id: number; old: unknown; bytes: number }>`select ${rows}`.execute(tx.sql)).rows) {
    if (bytes >= MAX_BYTES) break
    bytes += row.bytes
    if (row.old) last = row.id
  }
  return last
}

/** Old rows, and rows dated into the future by a wrong clock: their time says nothing about the rows after them. */
export function isPassed(tx: Query, column: string, before: TimeText): RawBuilder<unknown> {
  return sql`(${isBefore(tx, column, before)} or ${sql.ref(column)} > ${timeValue(tx, timeFromMs(tx.clock.now() + AHEAD_MS))})`
}

function isBefore(tx: Query, column: string, time: TimeText): RawBuilder<unknown> {
  return sql`${sql.ref(column)} < ${timeValue(tx, time)}`
}
