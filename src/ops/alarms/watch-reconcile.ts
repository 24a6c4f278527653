import { msFromTime } from '../../model/time.ts'
import { lastSlot } from '../../reconcile/run/schedule.ts'
import { reconciledSince, scheduledSince } from '../../store/operators/alarm-queries.ts'
import { findAccount } from '../../store/reads/accounts.ts'
import { type EndedRun, withLeft } from '../../store/reconcile/left.ts'
import { lastEndedRun } from '../../store/reconcile/runs.ts'
import { runLeft } from '../health/matters.ts'
import { pluralize, shortTime } from '../output/text.ts'
import { type Condition, ofAccount, ofMatter } from './condition.ts'
import type { WatchContext, Watcher } from './watcher.ts'

/** A run begins within moments of its time; after this long it counts as overdue. */
const LATE_MS = 3_600_000

/** Whether each account is reconciled on schedule, and the outcome of its last run. */
export const reconcileWatcher: Watcher = {
  names: ['reconcile_overdue', 'reconcile_failed', 'reconcile_findings'],
  async check(context) {
    const conditions: Condition[] = []
    for (const { name } of context.config.accounts) {
      conditions.push(await overdue(name, context))
      const last = await lastEndedRun(context.q, name)
      if (last === null) continue
      const run = await withLeft(context.q, last)
      conditions.push(failed(name, run), findings(name, run))
    }
    return conditions
  },
}

async function overdue(account: string, { q, config, nowMs }: WatchContext): Promise<Condition> {
  const { cron } = config.reconcile
  const none = ofAccount(account, 'reconcile_overdue', 'off', '')
  // A stopped account reads nothing: `account_stopped` says so already.
  if (cron === null || (await findAccount(q, account))?.state !== 'active') return none
  const slot = lastSlot({ cron, timeZone: config.cronTimezone }, nowMs - LATE_MS)
  const since = await scheduledSince(q, account)
  if (since === null || since > slot || (await reconciledSince(q, account, slot))) return none
  const text =
    `a reconcile run of account ${account} was due at ${shortTime(slot)} UTC, and none has begun or continued since; see in \`submission-mirror status\` whether \`serve\` ` +
    `runs, or run \`submission-mirror reconcile --account ${account}\``
  return ofAccount(account, 'reconcile_overdue', 'on', text)
}

function failed(account: string, run: EndedRun): Condition {
  const isWhole = run.state !== 'failed' && run.left.unreadable === 0
  return ofMatter('reconcile_failed', { account }, isWhole ? [] : [runLeft(account, { ...run, left: { ...run.left, differences: 0 } })])
}

/** What a run repaired asks for its cause until a clean run; what it left is over when it is put right. */
function findings(account: string, run: EndedRun): Condition {
  const found = run.missing + run.different + run.absent + run.lost
  const left = run.options.dry_run === true ? 'and left them (dry run)' : `and repaired ${run.repaired}`
  const text =
    `the last reconcile run of account ${account} found ${pluralize(found, 'difference')} (${run.missing} missing, ` +
    `${run.different} different, ${run.absent} absent, ${run.lost} lost from the change log) ${left}; \`submission-mirror reconcile show ${run.run_id}\` tells which; ` +
    'look for the cause of those that come again'
  return ofAccount(account, 'reconcile_findings', run.repaired + run.left.differences > 0, text, endOf(run))
}

function endOf(run: EndedRun): number | undefined {
  return run.ended_at === null ? undefined : msFromTime(run.ended_at)
}
