import { lastSlot } from '../../reconcile/run/schedule.ts'
import { reconciledSince, scheduledSince } from '../../store/operators/alarm-queries.ts'
import { findAccount } from '../../store/reads/accounts.ts'
import { type EndedRun, withLeft } from '../../store/reconcile/left.ts'
import { lastEndedRun } from '../../store/reconcile/runs.ts'
import { uncheckedBy } from '../health/from-health.ts'
import { type Problem, problem } from '../health/problem.ts'
import { pluralize, shortTime } from '../output/text.ts'
import type { WatchContext, Watcher } from './watcher.ts'

/** `reconcile_overdue` fires if no run has started this many ms after the scheduled time. */
const LATE_MS = 3_600_000

/** Watches whether reconcile runs start on schedule, and the outcome of the last run. */
export const reconcileWatcher: Watcher = {
  names: ['reconcile_overdue', 'reconcile_failed', 'reconcile_findings'],
  async check(context) {
    const found: Problem[] = []
    for (const { name } of context.config.accounts) {
      found.push(...(await overdue(name, context)))
      const last = await lastEndedRun(context.q, name)
      if (last === null) continue
      const run = await withLeft(context.q, last)
      found.push(...uncheckedBy(name, run), findings(name, run))
    }
    return found
  },
}

async function overdue(account: string, { q, config, nowMs }: WatchContext): Promise<Problem[]> {
  const { cron } = config.reconcile
  // Skip a stopped account: it isn't read, and `account_stopped` fires.
  if (cron === null || (await findAccount(q, account))?.state !== 'active') return []
  const slot = lastSlot({ cron, timeZone: config.cronTimezone }, nowMs - LATE_MS)
  const since = await scheduledSince(q, account)
  if (since === null || since > slot || (await reconciledSince(q, account, slot))) return []
  const text =
    `a reconcile run of account ${account} was due at ${shortTime(slot)} UTC, but no run has started or resumed since; check in \`submission-mirror status\` that \`serve\` ` +
    `runs, or run \`submission-mirror reconcile --account ${account}\``
  return [problem('reconcile_overdue', { account }, 'on', text)]
}

/**
 * @returns the problem `reconcile_findings` of the account's last ended run.
 * The level is `on` if the run repaired differences, or if differences that the run left are still unresolved.
 */
function findings(account: string, run: EndedRun): Problem {
  const found = run.missing + run.different + run.absent + run.lost
  const left = run.options.dry_run === true ? 'and did not repair them (dry run)' : `and repaired ${run.repaired}`
  const text =
    `the last reconcile run of account ${account} found ${pluralize(found, 'difference')} (${run.missing} missing, ` +
    `${run.different} different, ${run.absent} absent, ${run.lost} lost from the change log) ${left}; \`submission-mirror reconcile show ${run.run_id}\` lists them; ` +
    'find the cause of repeated differences'
  return problem('reconcile_findings', { account, since: run.ended_at }, run.repaired + run.left.differences > 0, text)
}
