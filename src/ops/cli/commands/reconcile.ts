import type { Command } from 'commander'
import { UsageError } from '../../../base/errors.ts'
import { silentObserver } from '../../../base/observer.ts'
import type { Config } from '../../../config/config.ts'
import { longPause } from '../../../poll/account-pauses.ts'
import { runExit, worstExit } from '../../../reconcile/run/outcome.ts'
import { type RunContext, workRun } from '../../../reconcile/run/run.ts'
import type { Db } from '../../../store/engine/db.ts'
import { auditAction } from '../../../store/operators/actions.ts'
import { ensureAccounts } from '../../../store/reads/accounts.ts'
import { findPause, LONG_PAUSE_MS } from '../../../store/reads/pauses.ts'
import { claimNewRun } from '../../../store/reconcile/claims.ts'
import { listFindings } from '../../../store/reconcile/findings.ts'
import type { RunRow } from '../../../store/reconcile/runs.ts'
import type { RunOptions } from '../../../store/schema/reconcile.ts'
import { parseCount, parseMoment, parseSubmissionId } from '../../actions/arguments.ts'
import { accountNamed } from '../../actions/names.ts'
import { accountsOfRun, futureProblem, runNote } from '../../actions/reconcile.ts'
import { subjects } from '../../operations/index.ts'
import { operations } from '../../operations/reconcile.ts'
import { runSummary } from '../../output/reconcile-text.ts'
import { addOperations } from '../from-operation.ts'
import { limitHeapGrowth } from '../heap-growth.ts'
import { ReconcileScreen } from '../reconcile-screen.ts'
import { withAccountClient } from './account-client.ts'
import { type CommandContext, type OpenStore, withStore } from './context.ts'
import { addReconcileShow, printFindings, reportProblem, writeReport, writeRunJson } from './reconcile-show.ts'

/** Maximum number of findings that `reconcile` prints. `reconcile show` prints all findings. */
const PRINTED = 20

interface ReconcileOptions {
  readonly submission?: readonly string[]
  readonly account?: string
  readonly since?: string
  readonly activeOnly?: boolean
  readonly dryRun?: boolean
  readonly state: boolean
  readonly concurrency?: string
  readonly json?: boolean
  readonly report?: string
}

/** Adds the commands `reconcile [options]` and `reconcile show RUN`, and the operations on runs. */
export function addReconcile(program: Command, c: CommandContext): void {
  const reconcile = program
    .command('reconcile')
    .enablePositionalOptions()
    .description('compare the mirror with the full history of the service, repair it, and report')
    .option('--submission <id...>', 'only these submissions')
    .option('--account <name>', 'only this account (default: all configured accounts)')
    .option('--since <time>', 'only submissions with activity since a date, a date-time, or an age such as 2h or 7d')
    .option('--active-only', 'only submissions with activity in the last 90 days')
    .option('--dry-run', 'only report, without repairing')
    .option('--no-state', 'compare only feeds, not the state')
    .option('--concurrency <n>', 'reads in parallel (default: UPSTREAM_CONCURRENCY)')
    .option('--report <file>', 'write the report of the run to this .html file; with several accounts, requires --account')
    .option('--json', 'as JSON, for programs')
    .action((options: ReconcileOptions) => reconcileNow(c, options))
  addReconcileShow(reconcile, c)
  addOperations(program, c, subjects.reconcile.about, operations)
}

async function reconcileNow(c: CommandContext, given: ReconcileOptions): Promise<void> {
  const problems: string[] = []
  const options = optionsIn(c, given, problems)
  const problem = given.report === undefined ? null : reportProblem(given.report)
  if (problem !== null) problems.push(problem)
  const check = (config: Config) => given.account !== undefined && accountNamed(config, given.account, '--account')
  const use = { accounts: 'needed', prepare: false, looksOnly: options.dry_run === true, problems, check } as const
  await withStore(c, use, async (store) => {
    const accounts = await accountsOfRun(store.config, store.db.read, given.account, options, '--account')
    if (given.report !== undefined && accounts.length > 1)
      throw new UsageError(['--report: each account has its own run and report; choose one with --account'])
    await ensureAccounts(store.db, accounts)
    limitHeapGrowth()
    const runs: RunRow[] = []
    const codes: number[] = []
    for (const account of accounts) {
      const run = await reconcileAccount(c, store, account, options)
      codes.push(run === null ? runExit.notDone : (run.exit_code ?? runExit.unchecked))
      if (run === null) continue
      runs.push(run)
      if (!given.json) await print(c, store.db, run)
    }
    if (given.json) await printRuns(c, store.db, runs)
    c.exitCode = worstExit(codes)
    // Write the report last. If writing fails, the other output is already printed.
    const [run] = runs
    if (given.report !== undefined && run) await writeReport(c, store.db, run, given.report)
  })
}

function optionsIn(c: CommandContext, given: ReconcileOptions, problems: string[]): RunOptions {
  const ids = (given.submission ?? []).flatMap((text) => parseSubmissionId(text, '--submission', problems) ?? [])
  const since = parseMoment(given.since, '--since', c.clock.now(), problems)
  problems.push(...futureProblem(since, c.clock.now(), '--since'))
  const concurrency = given.concurrency === undefined ? undefined : parseCount(given.concurrency, '--concurrency', 256, problems)
  return {
    ...(ids.length > 0 && { submissions: [...new Set(ids)].sort() }),
    ...(since !== undefined && { since }),
    ...(given.activeOnly && { active_only: true }),
    ...(given.dryRun && { dry_run: true }),
    ...(!given.state && { no_state: true }),
    ...(concurrency !== undefined && { concurrency }),
  }
}

/** @returns the finished run; null if another run is active, or if the service asked for a long pause. */
async function reconcileAccount(c: CommandContext, store: OpenStore, account: string, options: RunOptions): Promise<RunRow | null> {
  const { config, db, log } = store
  const { clock, host } = c
  const pause = await findPause(db.read, account)
  if (pause !== null && pause.ms > LONG_PAUSE_MS) {
    host.stderr.write(`${longPause(account, pause.until, pause.reason).message}\n`)
    return null
  }
  const claim = await claimNewRun(db, { account, options, requestedBy: 'command' })
  if ('busy' in claim) {
    host.stderr.write(
      `account ${account}: run ${claim.runId} is in progress. \`submission-mirror reconcile show ${claim.runId}\` shows its progress. If its process died, the run can be resumed after ${claim.leaseUntil}\n`,
    )
    return null
  }
  if (claim.resumed) {
    host.stderr.write(
      `account ${account}: run ${claim.run.run_id} was interrupted and resumes after ${claim.run.submissions_done} submissions\n`,
    )
  }
  const observer = silentObserver
  const screen = new ReconcileScreen(host.stderr, clock)
  const parts: Omit<RunContext, 'client'> = {
    db,
    database: null,
    clock,
    log,
    observer,
    concurrency: config.upstream.concurrency,
    budgetMs: config.reconcile.budgetMs,
    recordFields: config.recordFields,
    destinations: config.destinations.map(({ name }) => name),
    onAbort: 'stop',
    onProgress: (now, counts) => screen.show(now, counts),
  }
  const { run } = await withAccountClient(
    c,
    store,
    { role: 'reconcile', account, observer, looksOnly: options.dry_run === true },
    (client) =>
      auditAction(db, runNote('command', 'reconcile.run', account, options), async () => {
        const ended = await workRun({ ...parts, client }, claim, host.signal).finally(() => screen.clear())
        const { run_id, state, exit_code } = ended
        return { run: ended, detail: { run_id, state, exit_code }, failed: state === 'failed' }
      }),
  )
  return run
}

async function print(c: CommandContext, db: Db, run: RunRow): Promise<void> {
  const { stdout } = c.host
  stdout.write(runSummary(run))
  const findings = await listFindings(db.read, { runId: run.run_id, limit: PRINTED + 1 })
  if (findings.length > 0) printFindings(c, findings.slice(0, PRINTED))
  if (findings.length > PRINTED) stdout.write(`… \`submission-mirror reconcile show ${run.run_id}\` shows all\n`)
}

async function printRuns(c: CommandContext, db: Db, runs: readonly RunRow[]): Promise<void> {
  const { stdout } = c.host
  stdout.write('[')
  for (const [index, run] of runs.entries()) {
    if (index > 0) stdout.write(',\n')
    await writeRunJson(stdout, db, run)
  }
  stdout.write(']\n')
}
