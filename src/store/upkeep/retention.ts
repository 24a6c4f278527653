import { sql } from 'kysely'
import { type TimeText, timeFromMs } from '../../model/time.ts'
import type { Db, Query, Tx } from '../engine/db.ts'
import { timeValue } from '../engine/sql.ts'
import { hasNoOptionsBut } from '../reconcile/runs.ts'
import { renewUpkeep, type UpkeepLease } from './upkeep.ts'

/** One small transaction of retention, and what it came to. */
export interface RetentionStep {
  /** Rows that were removed, or relieved of their body. */
  readonly removed: number
  /** Where the next step begins; null when there is nothing more to look at. */
  readonly next: number | null
  /** How long its statements took. Waiting for a turn, and for the disk at the end, are not: fewer rows make neither shorter. */
  readonly workedMs: number
}

/** What every step is told. */
export interface StepInput {
  readonly lease: UpkeepLease
  /** What came, or was settled, before this moment goes. */
  readonly before: TimeText
  /** Rows that are looked at. */
  readonly limit: number
  /** Where the last step ended; 0 at first. */
  readonly after: number
}

/** What one transaction frees at most, the last row excepted: a body may have megabytes. */
const MAX_BYTES = 4 << 20

/** By less the clocks of several machines may differ, and it passes by itself. */
const AHEAD_MS = 86_400_000

type Work = (tx: Tx) => Promise<Omit<RetentionStep, 'workedMs'>>

/** @throws LeaseLostError when another process does it now. */
function step(db: Db, lease: UpkeepLease, work: Work): Promise<RetentionStep> {
  const timed = async (tx: Tx): Promise<RetentionStep> => {
    const startedAt = performance.now()
    await renewUpkeep(tx, lease)
    const done = await work(tx)
    return { ...done, workedMs: performance.now() - startedAt }
  }
  return db.write('retention', timed, { onWorkerThread: true })
}

interface Passed {
  readonly id: number
  /** See `isPassed`. */
  readonly old: boolean
  readonly bytes: number
}

/**
 * The next old deliveries in the order in which they came: those that are worked lose body and headers and keep their ids, so that the
 * same delivery that comes again is known. What is not worked yet is noted, for `trimLeftOver`. How far it came is kept with the lease.
 */
export function trimInbox(db: Db, { lease, before, limit, after }: StepInput): Promise<RetentionStep> {
  return step(db, lease, async (tx) => {
    const { rows } = await sql<RawPassed>`
      select inbox_id as id, ${isPassed(tx, 'received_at', before)} as old, coalesce(length(body), 0) as bytes
      from sync_inbox where inbox_id > ${after} order by inbox_id limit ${sql.lit(limit)}`.execute(tx.sql)
    const last = lastOld(rows.map(passed))
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

/** The same for deliveries that were passed before they were worked. */
export function trimLeftOver(db: Db, { lease, before, limit, after }: StepInput): Promise<RetentionStep> {
  return step(db, lease, async (tx) => {
    const { rows } = await sql<RawPassed>`
      select l.inbox_id as id, 1 as old, coalesce(length(i.body), 0) as bytes
      from sync_inbox_left l left join sync_inbox i on i.inbox_id = l.inbox_id
      where l.inbox_id > ${after} order by l.inbox_id limit ${sql.lit(limit)}`.execute(tx.sql)
    const last = lastOld(rows.map(passed))
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

/** Removes refused deliveries. */
export function removeRejected(db: Db, { lease, before, limit, after }: StepInput): Promise<RetentionStep> {
  return step(db, lease, async (tx) => {
    const { rows } = await sql<RawPassed>`
      select rejected_id as id, ${isPassed(tx, 'received_at', before)} as old, coalesce(length(body), 0) as bytes
      from sync_rejected where rejected_id > ${after} order by rejected_id limit ${sql.lit(limit)}`.execute(tx.sql)
    const last = lastOld(rows.map(passed))
    if (last === null) return { removed: 0, next: null }
    const { numAffectedRows } = await sql`
      delete from sync_rejected where rejected_id > ${after} and rejected_id <= ${last} and ${isBefore(tx, 'received_at', before)}`.execute(
      tx.sql,
    )
    return { removed: Number(numAffectedRows ?? 0), next: last }
  })
}

/** Removes what a destination has taken, or somebody has given up. What may still be sent, or is for a person to settle, stays. */
export function removePushed(db: Db, { lease, before, limit, after }: StepInput): Promise<RetentionStep> {
  return step(db, lease, async (tx) => {
    const { rows } = await sql<RawPassed>`
      select outbox_id as id, ${isPassed(tx, 'queued_at', before)} as old, 0 as bytes
      from sync_outbox where outbox_id > ${after} order by outbox_id limit ${sql.lit(limit)}`.execute(tx.sql)
    const last = lastOld(rows.map(passed))
    if (last === null) return { removed: 0, next: null }
    const { numAffectedRows } = await sql`
      delete from sync_outbox where outbox_id > ${after} and outbox_id <= ${last}
        and state in ('delivered', 'skipped') and ${isBefore(tx, 'settled_at', before)}`.execute(tx.sql)
    return { removed: Number(numAffectedRows ?? 0), next: last }
  })
}

/**
 * Removes the oldest changes, so that what is left has no gaps; `mirror_info.first_seq` moves with them. It never goes past what one of
 * the named destinations has still to get, nor past a push that may still be made. Pushes that were skipped go with their changes: without
 * them nobody could try them again.
 * @param destinations those of the settings: what one that is not there any more has not got is not kept for it.
 */
export function removeChanges(db: Db, { lease, before, limit }: StepInput, destinations: readonly string[]): Promise<RetentionStep> {
  return step(db, lease, async (tx) => {
    const isYoung = sql`changed_at between ${timeValue(tx, before)} and ${timeValue(tx, timeFromMs(tx.clock.now()))}`
    const { rows } = await sql<{ seq: number; old: unknown; young: unknown }>`
      select seq, ${isBefore(tx, 'changed_at', before)} as old, ${isYoung} as young
      from changes order by seq limit ${sql.lit(limit)}`.execute(tx.sql)
    const removable = async () => {
      const needed = await oldestNeeded(tx, destinations)
      const firstKept = rows.findIndex(({ seq, young }) => Boolean(young) || seq >= needed)
      const passed = firstKept === -1 ? rows : rows.slice(0, firstKept)
      // What a clock that ran ahead has dated into the future is older than what came after it.
      return passed.slice(0, passed.findLastIndex(({ old }) => Boolean(old)) + 1)
    }
    const upTo = (await removable()).at(-1)?.seq
    if (upTo !== undefined) await removeSkipped(tx, upTo, limit)
    // Looked for once more: one of them may have been made ready again just before.
    const gone = await removable()
    const last = gone.at(-1)?.seq
    if (last === undefined) return { removed: 0, next: null }
    await sql`delete from changes where seq <= ${last}`.execute(tx.sql)
    // As whoever appends to the log does: the one row last, so that it is held for a moment.
    await tx.sql
      .updateTable('mirror_info')
      .set({ first_seq: last + 1 })
      .where('id', '=', 1)
      .execute()
    return { removed: gone.length, next: last }
  })
}

/** Each destination has at most one row of a change, so `limit` rows of each, the oldest first, are those of as many changes. */
async function removeSkipped(tx: Tx, upTo: number, limit: number): Promise<void> {
  for (const { destination } of await tx.sql.selectFrom('sync_destinations').select('destination').execute()) {
    await sql`
      delete from sync_outbox where seq <= ${upTo} and state = 'skipped' and outbox_id in (
        select outbox_id from sync_outbox where destination = ${destination} and ${sql.raw(stopped('skipped'))} and snapshot is null
        order by outbox_id limit ${sql.lit(limit)})`.execute(tx.sql)
  }
}

/**
 * Removes what reconcile runs found; their rows stay. Only when a later run came to its end that looked at all submissions: what still
 * stands, that has told again, and that it was told before is known by it.
 */
export function removeFindings(db: Db, { lease, before, limit }: StepInput): Promise<RetentionStep> {
  return step(db, lease, async (tx) => {
    const { numAffectedRows } = await sql`
      delete from reconcile_findings where (run_id, finding_no) in (
        select run_id, finding_no from reconcile_findings where run_id in (
          select r.run_id from reconcile_runs r where ${isBefore(tx, 'r.ended_at', before)} and exists (
            select 1 from reconcile_runs later where later.account = r.account and later.requested_at > r.requested_at
              and later.state = 'done' and ${hasNoOptionsBut(tx, 'later.options', ['concurrency', 'dry_run'])}))
        limit ${sql.lit(limit)})`.execute(tx.sql)
    const removed = Number(numAffectedRows ?? 0)
    return { removed, next: removed < limit ? null : 0 }
  })
}

/** The oldest number of the change log that somebody may still need; above all of them when nobody does. */
async function oldestNeeded(q: Query, destinations: readonly string[]): Promise<number> {
  const states = await q.sql.selectFrom('sync_destinations').select(['destination', 'cursor']).execute()
  let oldest = Number.MAX_SAFE_INTEGER
  for (const { destination, cursor } of states) {
    if (destinations.includes(destination)) oldest = Math.min(oldest, cursor + 1)
    for (const open of OPEN_ROWS) {
      const { rows } = await sql<{ seq: number }>`
        select seq from sync_outbox where destination = ${destination} and ${sql.raw(open)} order by outbox_id limit 1`.execute(q.sql)
      oldest = Math.min(oldest, rows[0]?.seq ?? oldest)
    }
  }
  return oldest
}

/** Rows that take what they say from the change log when they are sent, each as an index has them. */
const OPEN_ROWS = ["state = 'ready'", ...['dead', 'unknown'].map(stopped)]

/** As its index has it. */
function stopped(state: string): string {
  return `state = '${state}' and state in ('dead', 'unknown', 'skipped')`
}

interface RawPassed {
  readonly id: number
  readonly old: unknown
  readonly bytes: number
}

function passed({ id, old, bytes }: RawPassed): Passed {
  return { id, old: Boolean(old), bytes }
}

/** @returns up to where rows are looked at: the last old one, unless that would free too much at once; null when none is old. */
function lastOld(rows: readonly Passed[]): number | null {
  let last: number | null = null
  let bytes = 0
  for (const row of rows) {
    if (bytes >= MAX_BYTES) break
    bytes += row.bytes
    if (row.old) last = row.id
  }
  return last
}

/** What is old; and what a clock that ran ahead has dated into the future: it tells nothing of what came after it. */
function isPassed(tx: Tx, column: string, before: TimeText) {
  return sql`(${isBefore(tx, column, before)} or ${sql.ref(column)} > ${timeValue(tx, timeFromMs(tx.clock.now() + AHEAD_MS))})`
}

function isBefore(tx: Tx, column: string, time: TimeText) {
  return sql`${sql.ref(column)} < ${timeValue(tx, time)}`
}
