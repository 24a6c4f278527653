import { type RawBuilder, sql } from 'kysely'
import type { ReadKind } from '../../model/reads.ts'
import { msFromTime, type TimeText } from '../../model/time.ts'
import { LONGEST_LEASE_MS } from '../engine/leased.ts'
import type { MaxIntervals } from '../reads/due-times.ts'
import { FETCH_LEASE_MS, LONGEST_FETCH_WAIT_MS } from '../reads/fetches.ts'
import { rank } from '../reads/reads.ts'
import { RUN_LEASE_MS } from '../reconcile/claims.ts'

/** The longest waits that depend on the settings, in milliseconds. */
export interface LongestWaits {
  readonly accounts: readonly string[]
  readonly destinations: readonly string[]
  readonly reads: MaxIntervals
  /** Until the next attempt of a push, and the lease of a lane. */
  readonly pushMs: number
  readonly laneLeaseMs: number
  /** Until the next probe of a path of discovery. */
  readonly probeMs: number
}

/** A row of a table below: its key, and the columns that its waits depend on. */
export type WaitingRow = Readonly<Record<string, string | number | null>>

/**
 * How far ahead a column may lie. `lease`: somebody may be at work until then, so a time beyond is brought to the longest lease from now;
 * `spread`: to a moment within the longest wait, so that many rows do not come due together; `now`: to now; `clear`: to null.
 */
export interface LongestWait {
  readonly ms: number
  readonly becomes: 'lease' | 'spread' | 'now' | 'clear'
}

/** The columns of one table that make something wait. */
export interface DueTimes {
  readonly table: string
  readonly key: readonly string[]
  /** The longest legal wait of each, by row. */
  readonly columns: Readonly<Record<string, (row: WaitingRow, waits: LongestWaits) => LongestWait>>
  /** Other columns that the waits depend on. */
  readonly others?: readonly string[]
  /** An expression that they depend on, under the name `extra`. The row is `t`. */
  readonly extra?: string
  /**
   * `index`: rows in order of the one column, beginning with those that lie ahead, in each of the scopes. `key`: all rows in order of their
   * key, for tables that are small or have no index.
   */
  readonly walk: 'index' | 'key'
  /** Conditions on `t` that an index begins with; walked one after another. Left out: the whole table. */
  readonly scopes?: (waits: LongestWaits) => readonly RawBuilder<unknown>[]
  /** The table may have millions of rows: it is walked at the start, and when a clock was set back. */
  readonly isLarge?: boolean
}

/** The longest `every` that an extra read may have. */
const LONGEST_EVERY_MS = 30 * 86_400_000
const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
/** The longest pause that a `Retry-After` is granted. */
const LONGEST_PAUSE_MS = HOUR_MS
/** A time that is noted when something happens, and that something else counts from. It never lies ahead. */
const moment = (): LongestWait => ({ ms: 0, becomes: 'now' })
const lease = (ms: number): LongestWait => ({ ms, becomes: 'lease' })
const retry = (ms: number): LongestWait => ({ ms, becomes: 'now' })

/**
 * Every time in the schema that makes something wait, with its longest legal wait. test/store/upkeep/due-times.test.ts compares it, and
 * `notDueTimes`, with the tables of both databases.
 */
export const dueTimes: readonly DueTimes[] = [
  {
    table: 'sync_inbox',
    key: ['inbox_id'],
    others: ['lease_token', 'attempts'],
    columns: {
      available_at: (row) => (row['lease_token'] !== null ? lease(LONGEST_LEASE_MS) : retry(row['attempts'] === 0 ? 0 : HOUR_MS)),
    },
    walk: 'index',
    scopes: () => [sql`t.state = 'ready'`],
  },
  {
    table: 'sync_reads',
    key: ['account', 'submission_id', 'read'],
    others: ['rank', 'lease_token'],
    columns: {
      due_at: readWait,
      replay_due_at: (row, waits) => ({ ms: waits.reads(quietMs(row), readOf(row)).replayMs, becomes: 'spread' }),
      active_at: moment,
    },
    walk: 'key',
    isLarge: true,
  },
  {
    table: 'sync_push_lanes',
    key: ['destination', 'account', 'lane'],
    others: ['lease_token', 'blocked'],
    extra: `exists (select 1 from sync_outbox o where o.destination = t.destination and o.account = t.account and o.lane = t.lane
      and o.state = 'ready' and (o.attempts > 0 or o.uncertain = 1))`,
    columns: { due_at: laneWait },
    walk: 'index',
    scopes: ({ destinations }) =>
      destinations.flatMap((name) => [
        sql`t.destination = ${name} and t.blocked is null`,
        sql`t.destination = ${name} and t.blocked is not null and t.blocked = 'unmapped'`,
      ]),
  },
  { table: 'sync_destinations', key: ['destination'], columns: { retry_at: () => retry(LONGEST_PAUSE_MS) }, walk: 'key' },
  {
    table: 'sync_operator_notices',
    key: ['operator', 'name', 'account', 'destination'],
    others: ['lease_token', 'attempts'],
    columns: {
      due_at: (row) => (row['lease_token'] !== null ? lease(3 * MINUTE_MS) : retry(row['attempts'] === 0 ? 0 : 3 * HOUR_MS)),
      // An alarm is told again so long after this.
      settled_at: moment,
    },
    walk: 'key',
  },
  {
    table: 'sync_accounts',
    key: ['account'],
    columns: { retry_at: () => retry(15 * MINUTE_MS), swept_at: moment, throttled_until: () => retry(LONGEST_PAUSE_MS) },
    walk: 'key',
  },
  {
    table: 'sync_discovery',
    key: ['account', 'path'],
    others: ['lease_token'],
    columns: { due_at: (row, { probeMs }) => (row['lease_token'] !== null ? lease(5 * MINUTE_MS) : { ms: probeMs, becomes: 'spread' }) },
    walk: 'key',
    isLarge: true,
  },
  {
    table: 'sync_known_ids',
    key: ['account', 'kind', 'id'],
    others: ['lease_token'],
    columns: {
      due_at: (row, waits) =>
        row['lease_token'] !== null
          ? lease(LONGEST_LEASE_MS)
          : { ms: Math.max(DAY_MS, waits.reads(Number.POSITIVE_INFINITY, 'sessions').pollMs), becomes: 'spread' },
    },
    walk: 'key',
    isLarge: true,
  },
  {
    table: 'sync_documents',
    key: ['account', 'document_key'],
    others: ['lease_token'],
    columns: {
      due_at: (row) => (row['lease_token'] !== null ? lease(FETCH_LEASE_MS) : { ms: LONGEST_FETCH_WAIT_MS, becomes: 'spread' }),
      failing_since: moment,
    },
    walk: 'key',
    isLarge: true,
  },
  {
    table: 'sync_extra_reads',
    key: ['account', 'submission_id', 'name'],
    others: ['lease_token'],
    columns: { due_at: (row) => (row['lease_token'] !== null ? lease(LONGEST_LEASE_MS) : { ms: LONGEST_EVERY_MS, becomes: 'spread' }) },
    walk: 'key',
    isLarge: true,
  },
  { table: 'sync_reads_off', key: ['account', 'read'], columns: { retry_at: () => retry(DAY_MS) }, walk: 'key' },
  { table: 'sync_alarm_watch', key: ['id'], columns: { lease_until: () => lease(90 * SECOND_MS) }, walk: 'key' },
  // An alarm fires and resolves so long after these.
  { table: 'alarms', key: ['name', 'account', 'destination'], columns: { since: moment, last_at: moment }, walk: 'key' },
  { table: 'sync_upkeep', key: ['task'], columns: { lease_until: () => lease(2 * MINUTE_MS) }, walk: 'key' },
  { table: 'sync_reconcile', key: ['account'], columns: { lease_until: () => lease(RUN_LEASE_MS), since: moment }, walk: 'key' },
  // A slot that was run ahead of its time would keep the run of that day from taking place.
  {
    table: 'reconcile_runs',
    key: ['run_id'],
    columns: { slot: () => ({ ms: 0, becomes: 'clear' }), ended_at: moment },
    walk: 'key',
    isLarge: true,
  },
  // The oldest proof is renewed first.
  {
    table: 'sync_proofs',
    key: ['account', 'submission_id'],
    columns: { proved_at: moment },
    walk: 'index',
    scopes: ({ accounts }) => accounts.map((account) => sql`t.account = ${account}`),
  },
  { table: 'sync_processes', key: ['process_id'], columns: { seen_at: moment }, walk: 'key' },
]

/** Times that only tell when something happened: nothing waits for them. Tables of service data and `changes` are not listed. */
export const notDueTimes: Readonly<Record<string, readonly string[]>> = {
  sync_inbox: ['received_at', 'settled_at'],
  sync_rejected: ['received_at', 'replayed_at'],
  sync_reads: ['last_read_at', 'last_changed_at', 'last_replay_at'],
  sync_accounts: ['since', 'events_unreadable_at', 'identity_failing_since', 'throttled_since'],
  sync_arrivals: ['first_at'],
  sync_conflicts: ['seen_at'],
  sync_unreadable: ['seen_at'],
  sync_processes: ['started_at'],
  sync_migrations: ['applied_at'],
  push_map: ['mapped_at'],
  sync_destinations: ['since'],
  sync_outbox: ['queued_at', 'tried_at', 'settled_at'],
  sync_remote_ids: ['stored_at'],
  reconcile_runs: ['requested_at', 'started_at', 'updated_at'],
  reconcile_findings: ['repaired_at', 'found_at'],
  sync_proofs: ['visited_at'],
  arrival_counts: ['hour'],
  sync_discovery: ['probed_at', 'answered_at'],
  sync_known_ids: ['first_seen_at', 'last_read_at', 'last_changed_at'],
  sync_reads_off: ['since'],
  extra_reads: ['read_at'],
  sync_extra_reads: ['last_read_at'],
  operator_actions: ['at'],
  alarms: ['resolved_at', 'notified_at', 'acknowledged_at'],
  alarm_history: ['since', 'fired_at', 'resolved_at', 'acknowledged_at'],
  sync_operator_notices: ['queued_at'],
  sync_alarm_watch: ['evaluated_at'],
  sync_log_epochs: ['began_at', 'replays_at', 'replayed_at'],
  sync_purged: ['purged_at', 'finished_at'],
  sync_console_sessions: ['began_at', 'seen_at'],
  sync_restatements: ['requested_at'],
  sync_upkeep: ['began_at', 'ended_at', 'waits_since'],
  sync_webhook_secrets: ['last_verified_at'],
  sync_credential_uses: ['last_token_at'],
  sync_refused_connections: ['noted_at'],
  sync_differing_deliveries: ['first_at', 'last_at'],
  sync_figures: ['at'],
  sync_interface_drift: ['first_seen_at', 'last_seen_at'],
}

function readWait(row: WaitingRow, waits: LongestWaits): LongestWait {
  if (row['lease_token'] !== null) return lease(LONGEST_LEASE_MS)
  const { pollMs } = waits.reads(quietMs(row), readOf(row))
  // A read that the service does not give is tried again after a day.
  if (row['rank'] === rank.background) return { ms: Math.max(DAY_MS, pollMs), becomes: 'spread' }
  if (row['rank'] !== rank.failing) return { ms: pollMs, becomes: 'spread' }
  // A submission that the service does not find any more is asked for as seldom as a quiet one.
  return { ms: Math.max(LONGEST_PAUSE_MS, waits.reads(Number.POSITIVE_INFINITY, readOf(row)).pollMs), becomes: 'spread' }
}

function readOf(row: WaitingRow): ReadKind {
  return row['read'] as ReadKind
}

function laneWait(row: WaitingRow, { pushMs, laneLeaseMs }: LongestWaits): LongestWait {
  if (row['lease_token'] !== null) return lease(laneLeaseMs)
  if (row['blocked'] !== null) return retry(HOUR_MS)
  return retry(row['extra'] === 1 ? pushMs : 0)
}

/** For how long nothing has moved in the submission of a read. */
function quietMs(row: WaitingRow): number {
  const activeAt = row['active_at'] as TimeText | null
  return activeAt === null ? 0 : Math.max(0, Number(row['now_ms']) - msFromTime(activeAt))
}
