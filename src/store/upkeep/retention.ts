import { type RawBuilder, sql } from 'kysely'
import { type TimeText, timeFromMs } from '../../model/time.ts'
import type { Db, Query, Tx } from '../engine/db.ts'
import { lockNamed } from '../engine/locks.ts'
import { timeValue } from '../engine/sql.ts'
import { hasNoOptionsBut } from '../reconcile/runs.ts'
import { oldestNeeded, RESENT, stopped } from './needed-changes.ts'
import { renewUpkeep, type UpkeepLease } from './upkeep.ts'

export interface RetentionStep {
  /** Number of rows that the step deleted or whose body it removed. */
  readonly removed: number
  /** `after` for the next step; null if no rows to remove remain. */
  readonly next: number | null
  /**
   * Duration of the step's statements in ms, to choose the size of the next step. Doesn't include waits for the write
   * gate and the disk, because smaller steps wouldn't shorten these waits.
   */
  readonly processedMs: number
}

export interface StepInput {
  readonly lease: UpkeepLease
  /**
   * Only rows from before this time are removed. A row's time is its arrival, settling, or end, depending on the table.
   */
  readonly before: TimeText
  readonly limit: number
  readonly after: number
}

/** A step ends after removing this many bytes, because a single body may have several megabytes. */
const MAX_BYTES = 4 << 20

/** A stored time counts as wrong if it is more than this many ms in the future. */
const AHEAD_MS = 86_400_000

type Work = (tx: Tx) => Promise<Omit<RetentionStep, 'processedMs'>>

/**
 * Runs one step and renews the lease. On SQLite, the step runs in the worker thread.
 * @throws LeaseLostError if this process lost the lease.
 */
function step(db: Db, lease: UpkeepLease, work: Work): Promise<RetentionStep> {
  const timed = async (tx: Tx): Promise<RetentionStep> => {
    const startedAt = performance.now()
    await renewUpkeep(tx, lease)
    const done = await work(tx)
    return { ...done, processedMs: performance.now() - startedAt }
  }
  return db.write('retention', timed, { onWorkerThread: true })
}

/**
 * Trims the next old deliveries. A settled delivery loses its body and headers, but keeps its id, so that repetitions
 * are still detected. An unsettled delivery is noted in `sync_inbox_left`, for `trimLeftOver`. Stores the position with
 * the lease.
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
    const removed = await stripBodies(tx, range, before)
    await tx.run(sql`
      insert into sync_inbox_left (inbox_id) select inbox_id from sync_inbox where ${range} and body is not null
      on conflict do nothing`)
    return { removed, next: last }
  })
}

/** Trims deliveries that were still unsettled when `trimInbox` came to them. */
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
    const removed = await stripBodies(tx, sql`inbox_id in (select inbox_id from ${left})`, before)
    await tx.run(sql`
      delete from ${left} and not exists (
        select 1 from sync_inbox i where i.inbox_id = sync_inbox_left.inbox_id and i.body is not null)`)
    return { removed, next: last }
  })
}

async function stripBodies(tx: Tx, range: ReturnType<typeof sql>, before: TimeText): Promise<number> {
  return await tx.run(sql`
    update sync_inbox set body = null, headers = '{}'
    where ${range} and state in ('done', 'aside') and ${isBefore(tx, 'received_at', before)} and body is not null`)
}

export function removeRejected(db: Db, input: StepInput): Promise<RetentionStep> {
  const which = (tx: Tx) => isBefore(tx, 'received_at', input.before)
  return removeNext(db, input, { table: 'sync_rejected', id: 'rejected_id', time: 'received_at', bytes: BODY_BYTES, which })
}

/**
 * Deletes old delivered and skipped outbox rows. Rows in other states stay, because they may be sent or
 * need an operator.
 */
export function removePushed(db: Db, input: StepInput): Promise<RetentionStep> {
  const which = (tx: Tx) => sql`state in ('delivered', 'skipped') and ${isBefore(tx, 'settled_at', input.before)}`
  return removeNext(db, input, { table: 'sync_outbox', id: 'outbox_id', time: 'queued_at', bytes: sql`0`, which })
}

interface Passed {
  readonly table: string
  readonly id: string
  readonly time: string
  readonly bytes: RawBuilder<unknown>
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
    const removed = await tx.run(sql`delete from ${from} where ${number} > ${after} and ${number} <= ${last} and ${which(tx)}`)
    return { removed, next: last }
  })
}

/**
 * Deletes the oldest changes without leaving gaps, together with their skipped outbox rows, and moves
 * `mirror_info.first_seq`. Stops before the first change that a push may still need. Each step begins where the
 * previous step ended. Otherwise Postgres would read the index entries of deleted rows again, until a vacuum.
 * @param destinations names of configured destinations.
 */
export function removeChanges(db: Db, { lease, before, limit, after }: StepInput, destinations: readonly string[]): Promise<RetentionStep> {
  return step(db, lease, async (tx) => {
    // Take the lock of fan-out. Otherwise a resend could queue a row for a change that is being deleted.
    await lockNamed(tx, 'fan-out')
    const isYoung = sql`changed_at between ${timeValue(tx, before)} and ${timeValue(tx, timeFromMs(tx.clock.now()))}`
    const rows = await tx.all(sql<{ seq: number; old: unknown; young: unknown }>`
      select seq, ${isBefore(tx, 'changed_at', before)} as old, ${isYoung} as young
      from changes where seq > ${after} order by seq limit ${sql.lit(limit)}`)
    const removable = async () => {
      const needed = await oldestNeeded(tx, destinations)
      const firstKept = rows.findIndex(({ seq, young }) => Boolean(young) || seq >= needed)
      const passed = firstKept === -1 ? rows : rows.slice(0, firstKept)
      // A wrong clock may have dated a row in the future. Such a row is old if a later row is old.
      return passed.slice(0, passed.findLastIndex(({ old }) => Boolean(old)) + 1)
    }
    const upTo = (await removable()).at(-1)?.seq
    if (upTo === undefined) return { removed: 0, next: null }
    await removeSkipped(tx, upTo, limit)
    // Check again which changes can be removed, because a retry may have made a skipped row ready. Don't go beyond
    // `upTo`, because the skipped rows of later changes aren't deleted yet.
    const gone = (await removable()).filter(({ seq }) => seq <= upTo)
    const last = gone.at(-1)?.seq
    if (last === undefined) return { removed: 0, next: null }
    await tx.run(sql`delete from changes where seq > ${after} and seq <= ${last}`)
    // Update this row last, so that it is locked only for a short time.
    await tx.run(sql`update mirror_info set first_seq = ${last + 1} where id = 1`)
    return { removed: gone.length, next: last }
  })
}

/**
 * Deletes skipped outbox rows of changes up to `upTo`. Apart from resent rows, a destination has one row for each
 * change. The `limit` oldest skipped rows of a destination therefore include all skipped rows of this step's changes.
 * Resent rows are deleted separately.
 */
async function removeSkipped(tx: Tx, upTo: number, limit: number): Promise<void> {
  for (const { destination } of await tx.sql.selectFrom('sync_destinations').select('destination').execute()) {
    await tx.run(sql`
      delete from sync_outbox where seq <= ${upTo} and state = 'skipped' and outbox_id in (
        select outbox_id from sync_outbox where destination = ${destination} and ${sql.raw(stopped('skipped'))} and snapshot is null
        order by outbox_id limit ${sql.lit(limit)})`)
    await tx.run(sql`
      delete from sync_outbox where outbox_id in (
        select outbox_id from sync_outbox where destination = ${destination} and ${sql.raw(RESENT)} and seq <= ${upTo} and state = 'skipped'
        limit ${sql.lit(limit)})`)
  }
}

/**
 * Deletes old findings of a run if a later run of the whole account is done. The later run reported unresolved findings
 * again, marked as known.
 */
export function removeFindings(db: Db, input: StepInput): Promise<RetentionStep> {
  const which = (tx: Tx) => sql`run_id in (
    select r.run_id from reconcile_runs r where ${isBefore(tx, 'r.ended_at', input.before)} and exists (
      select 1 from reconcile_runs later where later.account = r.account and later.requested_at > r.requested_at
        and later.state = 'done' and ${hasNoOptionsBut(tx, 'later.options', ['concurrency', 'dry_run'])}))`
  return removeSome(db, input, 'reconcile_findings', ['run_id', 'finding_no'], which)
}

export function removeVerifications(db: Db, input: StepInput): Promise<RetentionStep> {
  const which = (tx: Tx) => sql`${isBefore(tx, 'verified_at', input.before)} order by verified_at`
  return removeSome(db, input, 'sync_push_verifications', ['destination', 'account', 'message_id'], which)
}

/** Deletes old resolved alarms from the history. */
export function removeEpisodes(db: Db, input: StepInput): Promise<RetentionStep> {
  const which = (tx: Tx) => sql`${isBefore(tx, 'resolved_at', input.before)} order by episode_id`
  return removeSome(db, input, 'alarm_history', ['episode_id'], which)
}

/**
 * Deletes up to `limit` rows of a table. Needs no position, because the next step doesn't find deleted rows again.
 * @param which SQL condition on the rows, and their order.
 */
function removeSome(
  db: Db,
  { lease, limit }: StepInput,
  table: string,
  key: readonly string[],
  which: (tx: Tx) => RawBuilder<unknown>,
): Promise<RetentionStep> {
  return step(db, lease, async (tx) => {
    const [from, columns] = [sql.table(table), sql.join(key.map((column) => sql.ref(column)))]
    const removed = await tx.run(sql`
      delete from ${from} where (${columns}) in (select ${columns} from ${from} where ${which(tx)} limit ${sql.lit(limit)})`)
    return { removed, next: removed < limit ? null : 0 }
  })
}

const BODY_BYTES = sql`coalesce(length(body), 0)`

/**
 * @param rows SQL that selects `id`, `old`, and `bytes` of the next rows.
 * @returns the id of the last old row; null if no row is old. Stops looking after `MAX_BYTES`.
 */
async function lastOld(tx: Tx, rows: RawBuilder<unknown>): Promise<number | null> {
  let last: number | null = null
  let bytes = 0
  for (const row of await tx.all(sql<{ id: number; old: unknown; bytes: number }>`select ${rows}`)) {
    if (bytes >= MAX_BYTES) break
    bytes += row.bytes
    if (row.old) last = row.id
  }
  return last
}

/**
 * Condition: retention may continue past this row. The row is old, or a wrong clock dated it far in the future. Such a
 * date says nothing about later rows, so it must not stop retention.
 */
export function isPassed(tx: Query, column: string, before: TimeText): RawBuilder<unknown> {
  return sql`(${isBefore(tx, column, before)} or ${sql.ref(column)} > ${timeValue(tx, timeFromMs(tx.clock.now() + AHEAD_MS))})`
}

function isBefore(tx: Query, column: string, time: TimeText): RawBuilder<unknown> {
  return sql`${sql.ref(column)} < ${timeValue(tx, time)}`
}
