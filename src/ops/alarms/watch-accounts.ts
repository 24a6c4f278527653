import { msFromTime, type TimeText, timeFromMs } from '../../model/time.ts'
import type { Query } from '../../store/engine/db.ts'
import { countConflicts, scheduledSince } from '../../store/operators/alarm-queries.ts'
import { listAccounts } from '../../store/reads/accounts.ts'
import type { AccountsTable } from '../../store/schema/reads.ts'
import { accountReads } from '../../store/upkeep/health.ts'
import { SKEW_MS, skewText } from '../clocks/clock-text.ts'
import { accountStopped } from '../health/from-health.ts'
import { levelOf, type Problem, problem } from '../health/problem.ts'
import { staleAfterMs } from '../health/verdict.ts'
import { ago, pluralize } from '../output/text.ts'
import type { WatchContext, Watcher } from './watcher.ts'

const MINUTE_MS = 60_000

/** `reads_overdue` fires if a read is overdue by `OVERDUE_MS`. The alarm resolves below `NOT_OVERDUE_MS`. */
const OVERDUE_MS = 15 * MINUTE_MS
const NOT_OVERDUE_MS = 5 * MINUTE_MS
/** `service_unavailable` fires if reads fail or are overdue, and no read has succeeded for this many ms. */
const NO_ANSWER_MS = 15 * MINUTE_MS
const SMALL_SKEW_MS = 30_000
/** `record_conflict` and `items_unreadable` fire until this many ms after the last conflict or unreadable item. */
const EVIDENCE_MS = 24 * 60 * MINUTE_MS

/** Watches the state of each configured account, and how recent its reads are. */
export const accountWatcher: Watcher = {
  names: ['account_stopped', 'service_unavailable', 'reads_overdue', 'state_stale', 'clock_skew', 'record_conflict', 'items_unreadable'],
  async check(context) {
    const configured = new Set(context.config.accounts.map(({ name }) => name))
    const found: Problem[] = []
    for (const row of await listAccounts(context.q)) {
      if (!configured.has(row.account)) continue
      found.push(
        ...accountStopped(row),
        skew(row.account, context),
        ...(await conflictsAndUnreadable(row.account, context.q, context.nowMs)),
      )
      // A stopped account isn't read, so don't check its reads. `account_stopped` fires instead.
      if (row.state === 'active') found.push(...(await reads(row, context)))
    }
    return found
  },
}

function skew(account: string, { clients }: WatchContext): Problem {
  const skewMs = clients.get(account)?.clockSkewMs() ?? null
  if (skewMs === null) return problem('clock_skew', { account }, 'between', '')
  return problem('clock_skew', { account }, levelOf(Math.abs(skewMs), SMALL_SKEW_MS, SKEW_MS), skewText(-skewMs))
}

/** @returns the problems for conflicts and unreadable items of the last 24 h. */
export async function conflictsAndUnreadable(account: string, q: Query, nowMs: number): Promise<Problem[]> {
  const { conflicts, unreadable } = await countConflicts(q, account, timeFromMs(nowMs - EVIDENCE_MS))
  return [
    problem(
      'record_conflict',
      { account },
      conflicts > 0,
      `${pluralize(conflicts, 'record')} of account ${account} changed within a day, although records must not change; both versions are in \`sync_conflicts\``,
    ),
    problem(
      'items_unreadable',
      { account },
      unreadable > 0,
      `${pluralize(unreadable, 'item')} of account ${account} could not be read within a day; they are in \`sync_unreadable\``,
    ),
  ]
}

async function reads({ account, brokerage }: AccountsTable, { q, config, nowMs }: WatchContext): Promise<Problem[]> {
  const { failing, newest_read_at: newest, stalest_read_at: stalest, ...due } = await accountReads(q, account)
  const overdueMs = Math.max(lateMs(due.oldest_read_request_at, nowMs), lateMs(due.oldest_read_due_at, nowMs))
  const silentSince = newest ?? (await scheduledSince(q, account))
  const silent = ago(silentSince, nowMs)
  // If the brokerage is unknown, the service may never have answered. Then check for an outage even if no read fails.
  const wanted = failing.once > 0 || overdueMs > NOT_OVERDUE_MS || brokerage === null
  const dead = wanted && lateMs(silentSince, nowMs) >= NO_ANSWER_MS
  // `state_stale` doesn't depend on the schedule. It fires if a read has failed or stalled for about half an hour, or if
  // a feed or the requirements of a submission were not read for `POLL_DORMANT` plus a day.
  // While `service_unavailable` is on, failing reads don't count.
  const long = dead ? 0 : failing.long
  const stale =
    long > 0
      ? `${pluralize(long, 'read')} of account ${account} ${long === 1 ? 'has' : 'have'} failed for half an hour or more`
      : `a submission of account ${account} has not been read for ${ago(stalest, nowMs)}, longer than POLL_DORMANT allows`
  return [
    problem(
      'service_unavailable',
      { account },
      dead,
      `no read of account ${account} has succeeded ${newest === null ? `since its first start ${silent} ago` : `for ${silent}`}; run ` +
        '`submission-mirror doctor` to check service, proxy and DNS',
    ),
    problem(
      'reads_overdue',
      { account },
      // An unavailable service delays all reads, and `service_unavailable` already fires.
      dead ? 'off' : levelOf(overdueMs, NOT_OVERDUE_MS, OVERDUE_MS),
      `the oldest read of account ${account} has been due for ${Math.round(overdueMs / MINUTE_MS)} min; raise UPSTREAM_RPS as far as the service ` +
        'allows, or lengthen POLL_* (`submission-mirror status` shows the demand)',
    ),
    problem(
      'state_stale',
      { account },
      long > 0 || lateMs(stalest, nowMs) > staleAfterMs(config.poll.dormantMs),
      `${stale}; \`submission-mirror sync --all --account ${account}\` reads them now and reports failures`,
    ),
  ]
}

function lateMs(dueAt: TimeText | null, nowMs: number): number {
  return dueAt === null ? 0 : Math.max(0, nowMs - msFromTime(dueAt))
}
