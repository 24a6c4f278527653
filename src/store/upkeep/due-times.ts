import type { IdRead, ReadKind } from '../../model/reads.ts'
import { msFromTime, type TimeText } from '../../model/time.ts'
import { LONGEST_LEASE_MS } from '../engine/leased.ts'
import type { LongestWait, WaitingRow, WaitingTimes } from '../engine/longest-waits.ts'
import { claimedDeliveries } from '../inbox/work.ts'
import { claimedWatch } from '../operators/alarms.ts'
import { claimedNotices } from '../operators/notices.ts'
import { claimedTokens } from '../outbox/push-tokens.ts'
import { claimedLanes } from '../outbox/work.ts'
import { claimedReads } from '../reads/claims.ts'
import { claimedFetches, FETCH_LEASE_MS, LONGEST_FETCH_WAIT_MS } from '../reads/fetches.ts'
import { claimedIds } from '../reads/known-ids.ts'
import { claimedPaths } from '../reads/path-reads.ts'
import { rank } from '../reads/reads.ts'
import { claimedRuns, RUN_LEASE_MS } from '../reconcile/claims.ts'
import { claimedTasks } from './upkeep.ts'

/** The longest waits that the settings allow, in milliseconds. */
export interface AllowedWaits {
  /** Of a read and its replay, when nothing has moved for so long. */
  readonly reads: (quietForMs: number, read: ReadKind) => { readonly pollMs: number; readonly replayMs: number }
  /** @param isFinal nothing is expected of it any more. */
  readonly ids: (read: IdRead, isFinal: boolean) => number
  /** Until the next probe of a path of discovery of an account, while it answers and while it fails. */
  readonly probes: (account: string, failures: number) => number
  readonly extraReads: (account: string, name: string) => number
  /** Until the next attempt of a push, and the lease of a lane. */
  readonly pushMs: number
  readonly laneLeaseMs: number
}

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
/** The longest pause that a `Retry-After` is granted. */
const LONGEST_PAUSE_MS = HOUR_MS
/** A time that is noted when something happens, and that something else counts from. It never lies ahead. */
const moment = (): LongestWait => ({ ms: 0, becomes: 'now' })
const retry = (ms: number): LongestWait => ({ ms, becomes: 'now' })
const spread = (ms: number): LongestWait => ({ ms, becomes: 'spread' })
/** A turn that nobody holds waits for nothing. */
const turn = moment

/**
 * Every time in the schema that makes something wait, with its longest legal wait. test/store/upkeep/due-times.test.ts compares it with the
 * tables of both databases.
 */
export const dueTimes: readonly WaitingTimes<AllowedWaits>[] = [
  claimedDeliveries.waits(LONGEST_LEASE_MS, ({ attempts }) => retry(attempts === 0 ? 0 : HOUR_MS), {
    others: ['attempts'],
    indexed: "t.state = 'ready'",
  }),
  claimedReads.waits(LONGEST_LEASE_MS, readWait, {
    columns: { replay_due_at: (row, allowed) => spread(allowed.reads(quietMs(row), readOf(row)).replayMs), active_at: moment },
    others: ['rank', 'failures', 'not_found', 'stalled_walks'],
    extra: 'exists (select 1 from sync_reads_off o where o.account = t.account and o.read = t.read)',
  }),
  claimedIds.waits(
    LONGEST_LEASE_MS,
    ({ kind, is_final, failures, not_found, extra }, allowed) => {
      const ms = allowed.ids(kind as IdRead, is_final === 1)
      return spread(failures === 0 && not_found === 0 && extra === 0 ? ms : Math.max(DAY_MS, ms))
    },
    {
      others: ['is_final', 'failures', 'not_found'],
      extra: 'exists (select 1 from sync_reads_off o where o.account = t.account and o.read = t.kind)',
    },
  ),
  claimedFetches.waits(FETCH_LEASE_MS, () => spread(LONGEST_FETCH_WAIT_MS), { columns: { failing_since: moment } }),
  claimedPaths.waits(
    5 * MINUTE_MS,
    ({ account, name, path, failures }, { probes, extraReads }) =>
      spread(path === '' ? extraReads(String(account), String(name)) : probes(String(account), Number(failures))),
    { others: ['failures'] },
  ),
  claimedLanes.waits(
    ({ laneLeaseMs }) => laneLeaseMs,
    ({ blocked, extra }, { pushMs }) => retry(blocked !== null ? HOUR_MS : extra === 1 ? pushMs : 0),
    {
      others: ['blocked'],
      extra: `exists (select 1 from sync_outbox o where o.destination = t.destination and o.account = t.account and o.lane = t.lane
        and o.state = 'ready' and (o.attempts > 0 or o.uncertain = 1))`,
    },
  ),
  claimedTokens.waits(({ laneLeaseMs }) => laneLeaseMs, turn),
  claimedNotices.waits(3 * MINUTE_MS, ({ attempts }) => retry(attempts === 0 ? 0 : 3 * HOUR_MS), {
    // An alarm is told again so long after this.
    columns: { settled_at: moment },
    others: ['attempts'],
  }),
  claimedTasks.waits(2 * MINUTE_MS, turn),
  claimedWatch.waits(90 * SECOND_MS, turn),
  claimedRuns.waits(RUN_LEASE_MS, turn, { columns: { since: moment } }),
  { table: 'sync_destinations', key: ['destination'], columns: { retry_at: () => retry(LONGEST_PAUSE_MS) } },
  {
    table: 'sync_accounts',
    key: ['account'],
    columns: { retry_at: () => retry(15 * MINUTE_MS), swept_at: moment, throttled_until: () => retry(LONGEST_PAUSE_MS) },
  },
  { table: 'sync_reads_off', key: ['account', 'read'], columns: { retry_at: () => retry(DAY_MS) } },
  // An alarm fires and resolves so long after these.
  { table: 'alarms', key: ['name', 'account', 'destination'], columns: { since: moment, last_at: moment } },
  // A slot that was run ahead of its time would keep the run of that day from taking place.
  { table: 'reconcile_runs', key: ['run_id'], columns: { slot: () => ({ ms: 0, becomes: 'clear' }), ended_at: moment } },
  // The oldest proof is renewed first.
  { table: 'sync_proofs', key: ['account', 'submission_id'], columns: { proved_at: moment } },
  { table: 'sync_processes', key: ['process_id'], columns: { seen_at: moment } },
]

/** What fails keeps its backoff, and what the service does not give is tried again after a day. */
function readWait(row: WaitingRow, allowed: AllowedWaits): LongestWait {
  const { pollMs, replayMs } = allowed.reads(quietMs(row), readOf(row))
  // A submission that the service does not find any more is asked for as seldom as a quiet one.
  if (row['rank'] === rank.failing) return spread(Math.max(LONGEST_PAUSE_MS, allowed.reads(Number.POSITIVE_INFINITY, readOf(row)).pollMs))
  const isFailing = ['failures', 'not_found', 'stalled_walks'].some((column) => row[column] !== 0)
  if (row['rank'] === rank.background && (isFailing || row['extra'] === 1)) return spread(Math.max(DAY_MS, pollMs))
  // A walk makes the replay, so it must not come later than one that is due.
  const ms = row['replay_due_at'] === null ? pollMs : Math.min(pollMs, replayMs)
  return spread(isFailing ? Math.max(LONGEST_PAUSE_MS, ms) : ms)
}

function readOf(row: WaitingRow): ReadKind {
  return row['read'] as ReadKind
}

/** For how long nothing has moved in the submission of a read. */
function quietMs(row: WaitingRow): number {
  const activeAt = row['active_at'] as TimeText | null
  return activeAt === null ? 0 : Math.max(0, Number(row['now_ms']) - msFromTime(activeAt))
}
