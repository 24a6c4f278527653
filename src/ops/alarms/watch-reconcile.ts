import { msFromTime } from '../../model/time.ts'
import { lastSlot } from '../../reconcile/run/schedule.ts'
import { reconciledSince, scheduledSince } from '../../store/operators/alarm-queries.ts'
import { findAccount } from '../../store/reads/accounts.ts'
import { lastEndedRun } from '../../store/reconcile/runs.ts'
import { pluralize, shortTime } from '../output/text.ts'
import { type Condition, ofAccount } from './condition.ts'
import type { WatchContext, Watcher } from './watcher.ts'

/** A run begins within moments of its time; one that waits for so long does not begin. */
const LATE_MS = 3_600_000

type Run = NonNullable<Awaited<ReturnType<typeof lastEndedRun>>>

/** Whether each account is reconciled when it should be, and what the last run came to. */
export const reconcileWatcher: Watcher = {
  names: ['reconcile_overdue', 'reconcile_failed', 'reconcile_findings'],
  async check(sight) {
    const conditions: Condition[] = []
    for (const { name } of sight.config.accounts) {
      conditions.push(await overdue(name, sight))
      const run = await lastEndedRun(sight.q, name)
      if (run !== null) conditions.push(failed(name, run), findings(name, run))
    }
    return conditions
  },
}

async function overdue(account: string, { q, config, nowMs }: WatchContext): Promise<Condition> {
  const { cron } = config.reconcile
  const none = ofAccount(account, 'reconcile_overdue', 'off', '')
  // An account that is stopped reads nothing: that is told already.
  if (cron === null || (await findAccount(q, account))?.state !== 'active') return none
  const slot = lastSlot({ cron, timeZone: config.cronTimezone }, nowMs - LATE_MS)
  const since = await scheduledSince(q, account)
  if (since === null || since > slot || (await reconciledSince(q, account, slot))) return none
  const text =
    `account ${account} was to be reconciled at ${shortTime(slot)} UTC and no run has begun or gone on since; see in \`submission-mirror status\` whether a ` +
    `process works, and run \`submission-mirror reconcile --account ${account}\``
  return ofAccount(account, 'reconcile_overdue', 'on', text)
}

function failed(account: string, run: Run): Condition {
  const bad = run.state === 'failed' || run.exit_code === 1
  const text =
    `the last reconciling of account ${account} could not check everything (${run.note ?? `${run.unreadable} unreadable`}); ` +
    `\`submission-mirror reconcile show ${run.run_id}\` tells what; mend that, then run it again`
  return ofAccount(account, 'reconcile_failed', bad ? 'on' : 'off', text, endOf(run))
}

function findings(account: string, run: Run): Condition {
  const found = run.missing + run.different + run.absent + run.lost
  const left = run.options.dry_run === true ? 'and left them, being a dry run' : `and repaired ${run.repaired}`
  const text =
    `the last reconciling of account ${account} found ${pluralize(found, 'difference')} (${run.missing} missing, ` +
    `${run.different} different, ${run.absent} absent, ${run.lost} lost from the change log) ${left}; \`submission-mirror reconcile show ${run.run_id}\` tells which, and what comes ` +
    'again and again has a cause to be found'
  return ofAccount(account, 'reconcile_findings', found > 0 ? 'on' : 'off', text, endOf(run))
}

function endOf(run: Run): number | undefined {
  return run.ended_at === null ? undefined : msFromTime(run.ended_at)
}
