import { msFromTime, type TimeText, timeFromMs } from '../../model/time.ts'
import { failingReads, newEvidence, newestRead, scheduledSince, stalestRead } from '../../store/operators/alarm-queries.ts'
import { listAccounts } from '../../store/reads/accounts.ts'
import type { AccountsTable } from '../../store/schema/tables.ts'
import { oldestDue } from '../../store/upkeep/gauges.ts'
import { ago, pluralize } from '../output/text.ts'
import { type Condition, levelOf, ofAccount } from './condition.ts'
import type { WatchContext, Watcher } from './watcher.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** Reads that were due so long ago come too late. */
const OVERDUE_MS = 15 * MINUTE_MS
const NOT_OVERDUE_MS = 5 * MINUTE_MS
/** Without a single success for so long, the service is thought not to answer. */
const NO_ANSWER_MS = 15 * MINUTE_MS
/** So many failures in a row, or walks that met a cursor that does not move, take about half an hour. */
const LONG = { failures: 12, stalls: 60 }
const SKEW_MS = 60_000
const SMALL_SKEW_MS = 30_000

/** How each account is, and how fresh what is read for it. */
export const accountWatcher: Watcher = {
  names: ['account_stopped', 'service_unavailable', 'reads_overdue', 'state_stale', 'clock_skew', 'record_conflict', 'items_unreadable'],
  async check(sight) {
    const configured = new Set(sight.config.accounts.map(({ name }) => name))
    const conditions: Condition[] = []
    for (const row of await listAccounts(sight.q)) {
      if (!configured.has(row.account)) continue
      conditions.push(stopped(row), ...skew(row.account, sight), ...(await evidence(row.account, sight)))
      // An account that is stopped reads nothing: that is told already.
      if (row.state === 'active') conditions.push(...(await reads(row, sight)))
    }
    return conditions
  },
}

function stopped({ account, state, reason, since }: AccountsTable): Condition {
  const text =
    `account ${account} is ${state}: ${reason ?? 'no reason is kept'}; its deliveries are taken, but nothing is read. Mend that, then ` +
    `\`submission-mirror account resume ${account}\``
  return ofAccount(account, 'account_stopped', state === 'active' ? 'off' : 'on', text, since === null ? undefined : msFromTime(since))
}

function skew(account: string, { clients }: WatchContext): Condition[] {
  const skewMs = clients.get(account)?.clockSkewMs() ?? null
  if (skewMs === null) return [ofAccount(account, 'clock_skew', 'between', '')]
  const seconds = Math.round(Math.abs(skewMs) / 1000)
  const text =
    `the clock of this machine is ${seconds} s ${skewMs > 0 ? 'behind' : 'ahead of'} the service's; set it by NTP, ` +
    'because deliveries are refused from 300 s on'
  return [ofAccount(account, 'clock_skew', levelOf(Math.abs(skewMs), SMALL_SKEW_MS, SKEW_MS), text)]
}

async function evidence(account: string, { q, nowMs }: WatchContext): Promise<Condition[]> {
  const { conflicts, unreadable } = await newEvidence(q, account, timeFromMs(nowMs - DAY_MS))
  return [
    ofAccount(
      account,
      'record_conflict',
      conflicts > 0 ? 'on' : 'off',
      `${pluralize(conflicts, 'record')} of account ${account} contradicted within a day what was kept of them; both versions are in ` +
        '`sync_conflicts`: show them to the service, or let `submission-mirror reconcile` decide',
    ),
    ofAccount(
      account,
      'items_unreadable',
      unreadable > 0 ? 'on' : 'off',
      `${pluralize(unreadable, 'item')} of account ${account} could not be read within a day (kept in \`sync_unreadable\`); look for a ` +
        'release that can, and tell the service',
    ),
  ]
}

async function reads({ account, brokerage }: AccountsTable, { q, config, nowMs }: WatchContext): Promise<Condition[]> {
  const due = await oldestDue(q, account)
  const overdueMs = Math.max(lateMs(due.live, nowMs), lateMs(due.routine, nowMs))
  const { failing, longFailing } = await failingReads(q, account, LONG)
  const newest = await newestRead(q, account)
  const silentSince = newest ?? (await scheduledSince(q, account))
  const silentMs = silentSince === null ? 0 : nowMs - msFromTime(silentSince)
  // Before anything else the service is asked whose credentials these are.
  const wanted = failing > 0 || overdueMs > NOT_OVERDUE_MS || brokerage === null
  const dead = wanted && silentMs >= NO_ANSWER_MS
  return [
    ofAccount(
      account,
      'service_unavailable',
      dead ? 'on' : 'off',
      `no read of account ${account} has succeeded ${newest === null ? 'since it is served, ' : ''}for ${ago(silentSince, nowMs)}; see whether the service, the proxy and the DNS can be reached ` +
        'from here (`submission-mirror doctor`)',
    ),
    ofAccount(
      account,
      'reads_overdue',
      // What the service does not answer is late for that reason.
      dead ? 'off' : levelOf(overdueMs, NOT_OVERDUE_MS, OVERDUE_MS),
      `reads of account ${account} are due for ${Math.round(overdueMs / MINUTE_MS)} min and more; raise UPSTREAM_RPS as far as the service ` +
        'allows, or lengthen POLL_* (`submission-mirror status` shows the demand)',
    ),
    await stale(account, { q, config, nowMs }, dead ? 0 : longFailing),
  ]
}

/** Whatever the timetable is: nothing is left unread for longer than its longest time, and nothing fails for long. */
async function stale(
  account: string,
  { q, config, nowMs }: Pick<WatchContext, 'q' | 'config' | 'nowMs'>,
  longFailing: number,
): Promise<Condition> {
  const oldest = await stalestRead(q, account)
  const ageMs = oldest === null ? 0 : nowMs - msFromTime(oldest)
  const allowedMs = config.poll.dormantMs + DAY_MS
  const what =
    longFailing > 0
      ? `${pluralize(longFailing, 'read')} of account ${account} ${longFailing === 1 ? 'has' : 'have'} failed for half an hour and more`
      : `a submission of account ${account} was not read for ${ago(oldest, nowMs)}, longer than POLL_DORMANT allows`
  const level = longFailing > 0 || ageMs > allowedMs ? 'on' : 'off'
  return ofAccount(
    account,
    'state_stale',
    level,
    `${what}; \`submission-mirror sync --all --account ${account}\` reads them now and says what fails`,
  )
}

function lateMs(dueAt: TimeText | null, nowMs: number): number {
  return dueAt === null ? 0 : Math.max(0, nowMs - msFromTime(dueAt))
}
