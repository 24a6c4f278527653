import { msFromTime } from '../../model/time.ts'
import { lastEndedRun } from '../../store/reconcile-runs.ts'
import { counted } from '../text.ts'
import { type Condition, ofAccount } from './condition.ts'
import type { Watcher } from './watcher.ts'

type Run = NonNullable<Awaited<ReturnType<typeof lastEndedRun>>>

/** What the last reconciling of each account came to. */
export const reconcileWatcher: Watcher = {
  names: ['reconcile_failed', 'reconcile_findings'],
  async look({ q, config }) {
    const conditions: Condition[] = []
    for (const { name } of config.accounts) {
      const run = await lastEndedRun(q, name)
      if (run !== null) conditions.push(failed(name, run), findings(name, run))
    }
    return conditions
  },
}

function failed(account: string, run: Run): Condition {
  const bad = run.state === 'failed' || run.exit_code === 1
  const text =
    `the last reconciling of account ${account} could not check everything (${run.note ?? `${run.unreadable} unreadable`}); ` +
    `\`submission-mirror reconcile show ${run.run_id}\` tells what, then run it again`
  return ofAccount(account, 'reconcile_failed', bad ? 'on' : 'off', text, endOf(run))
}

function findings(account: string, run: Run): Condition {
  const found = run.missing + run.different + run.absent
  const left = run.exit_code === 3 ? 'and left them, being a dry run' : `and repaired ${run.repaired}`
  const text =
    `the last reconciling of account ${account} found ${counted(found, 'difference')} between mirror and service (${run.missing} missing, ` +
    `${run.different} different, ${run.absent} absent) ${left}; \`submission-mirror reconcile show ${run.run_id}\` tells which, and one that comes ` +
    'again and again has a cause to be found'
  return ofAccount(account, 'reconcile_findings', found > 0 ? 'on' : 'off', text, endOf(run))
}

function endOf(run: Run): number | undefined {
  return run.ended_at === null ? undefined : msFromTime(run.ended_at)
}
