import { msFromTime, type TimeText, timeFromMs } from '../../model/time.ts'
import type { Query } from '../../store/engine/db.ts'
import { failingReads, newEvidence, newestRead, scheduledSince, stalestRead } from '../../store/operators/alarm-queries.ts'
import { listAccounts } from '../../store/reads/accounts.ts'
import type { AccountsTable } from '../../store/schema/reads.ts'
import { oldestDue } from '../../store/upkeep/gauges.ts'
import { SKEW_MS, skewText } from '../clocks/clock-text.ts'
import { accountStopped, evidence } from '../health/matters.ts'
import { staleAfterMs } from '../health/verdict.ts'
import { ago, pluralize } from '../output/text.ts'
import { type Condition, levelOf, ofAccount, ofMatter } from './condition.ts'
import type { WatchContext, Watcher } from './watcher.ts'

const MINUTE_MS = 60_000

/** A read that has been due for this long is overdue. */
const OVERDUE_MS = 15 * MINUTE_MS
const NOT_OVERDUE_MS = 5 * MINUTE_MS
/** The service counts as unavailable after this time without a successful read. */
const NO_ANSWER_MS = 15 * MINUTE_MS
/** Consecutive failures, or walks with a cursor that does not move, that take about half an hour. */
const LONG = { failures: 12, stalledWalks: 60 }
const SMALL_SKEW_MS = 30_000

/** The state of each account, and the freshness of its reads. */
export const accountWatcher: Watcher = {
  names: ['account_stopped', 'service_unavailable', 'reads_overdue', 'state_stale', 'clock_skew', 'record_conflict', 'items_unreadable'],
  async check(context) {
    const configured = new Set(context.config.accounts.map(({ name }) => name))
    const conditions: Condition[] = []
    for (const row of await listAccounts(context.q)) {
      if (!configured.has(row.account)) continue
      conditions.push(
        ofMatter('account_stopped', { account: row.account }, accountStopped(row)),
        ...skew(row.account, context),
        ...(await evidenceConditions(row.account, context.q, context.nowMs)),
      )
      // A stopped account reads nothing: `account_stopped` says so already.
      if (row.state === 'active') conditions.push(...(await reads(row, context)))
    }
    return conditions
  },
}

function skew(account: string, { clients }: WatchContext): Condition[] {
  const skewMs = clients.get(account)?.clockSkewMs() ?? null
  if (skewMs === null) return [ofAccount(account, 'clock_skew', 'between', '')]
  return [ofAccount(account, 'clock_skew', levelOf(Math.abs(skewMs), SMALL_SKEW_MS, SKEW_MS), skewText(-skewMs))]
}

/** What came within a day that contradicts what was kept, or could not be understood. */
export async function evidenceConditions(account: string, q: Query, nowMs: number): Promise<Condition[]> {
  const { conflicts, unreadable } = await newEvidence(q, account, timeFromMs(nowMs - evidence.forMs))
  return [
    ofAccount(account, 'record_conflict', conflicts > 0, evidence.conflicts(account, conflicts)),
    ofAccount(account, 'items_unreadable', unreadable > 0, evidence.unreadable(account, unreadable)),
  ]
}

async function reads({ account, brokerage }: AccountsTable, { q, config, nowMs }: WatchContext): Promise<Condition[]> {
  const due = await oldestDue(q, account)
  const overdueMs = Math.max(lateMs(due.live, nowMs), lateMs(due.routine, nowMs))
  const { failing, longFailing } = await failingReads(q, account, LONG)
  const newest = await newestRead(q, account)
  const silentSince = newest ?? (await scheduledSince(q, account))
  const silentMs = silentSince === null ? 0 : nowMs - msFromTime(silentSince)
  // An account whose brokerage is unknown has never been read: the first request asks for it.
  const wanted = failing > 0 || overdueMs > NOT_OVERDUE_MS || brokerage === null
  const dead = wanted && silentMs >= NO_ANSWER_MS
  return [
    ofAccount(
      account,
      'service_unavailable',
      dead,
      `no read of account ${account} has succeeded ${newest === null ? 'since its first start, ' : ''}for ${ago(silentSince, nowMs)}; run ` +
        '`submission-mirror doctor` to see whether service, proxy and DNS can be reached',
    ),
    ofAccount(
      account,
      'reads_overdue',
      // Reads are late because the service does not answer: `service_unavailable` says so.
      dead ? 'off' : levelOf(overdueMs, NOT_OVERDUE_MS, OVERDUE_MS),
      `the oldest read of account ${account} has been due for ${Math.round(overdueMs / MINUTE_MS)} min; raise UPSTREAM_RPS as far as the service ` +
        'allows, or lengthen POLL_* (`submission-mirror status` shows the demand)',
    ),
    await stale(account, { q, config, nowMs }, dead ? 0 : longFailing),
  ]
}

/** Independent of the schedule: no submission is left unread for longer than POLL_DORMANT and a day, and no read fails for long. */
async function stale(
  account: string,
  { q, config, nowMs }: Pick<WatchContext, 'q' | 'config' | 'nowMs'>,
  longFailing: number,
): Promise<Condition> {
  const oldest = await stalestRead(q, account)
  const ageMs = oldest === null ? 0 : nowMs - msFromTime(oldest)
  const allowedMs = staleAfterMs(config.poll.dormantMs)
  const what =
    longFailing > 0
      ? `${pluralize(longFailing, 'read')} of account ${account} ${longFailing === 1 ? 'has' : 'have'} failed for half an hour or more`
      : `a submission of account ${account} has not been read for ${ago(oldest, nowMs)}, longer than POLL_DORMANT allows`
  return ofAccount(
    account,
    'state_stale',
    longFailing > 0 || ageMs > allowedMs,
    `${what}; \`submission-mirror sync --all --account ${account}\` reads them now and says what fails`,
  )
}

function lateMs(dueAt: TimeText | null, nowMs: number): number {
  return dueAt === null ? 0 : Math.max(0, nowMs - msFromTime(dueAt))
}
