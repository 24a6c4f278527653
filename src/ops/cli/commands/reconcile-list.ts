import type { Command } from 'commander'
import { UsageError } from '../../../base/errors.ts'
import type { Output } from '../../../base/host.ts'
import { readReport } from '../../../reconcile/report/data.ts'
import type { Db } from '../../../store/engine/db.ts'
import { listFindings } from '../../../store/reconcile/findings.ts'
import { findRun, listRuns, type RunRow } from '../../../store/reconcile/runs.ts'
import { parseCount } from '../../actions/arguments.ts'
import { stopReconcile } from '../../actions/reconcile.ts'
import { refuseUnknownNames } from '../../actions/unknown-names.ts'
import { table } from '../../output/table.ts'
import { printableLine } from '../../output/text.ts'
import { findingsTable, runSummary, runsTable } from '../reconcile-text.ts'
import { reportProblem, writeReportFile } from '../report-file.ts'
import { actionContextOf, type CommandContext, printJson, printTable, widthOf, withStore } from './context.ts'

const MAX_LISTED = 10_000
const PAGE = 1_000

/** `reconcile list`, `reconcile show RUN`, `reconcile stop RUN` */
export function addReconcileList(reconcile: Command, c: CommandContext): void {
  reconcile
    .command('list')
    .description('list runs, the newest first')
    .option('--account <name>', 'only those of this account')
    .option('--limit <n>', 'how many at most', '20')
    .option('--json', 'as JSON, for programs')
    .action((own: { limit: string }, command: Command) => list(c, { ...command.optsWithGlobals(), ...own }))
  reconcile
    .command('show')
    .description('show a run and everything that it found')
    .argument('<run>', 'its id')
    .option('--report <file>', 'write its report to a file: .md or .html')
    .option('--json', 'as JSON, for programs')
    .action((id: string, own: object, command: Command) => show(c, id, { ...command.optsWithGlobals(), ...own }))
  reconcile
    .command('stop')
    .description('end a run that waits or is under way; what it found and repaired stays')
    .argument('<run>', 'its id')
    .action((id: string) => stop(c, id))
}

async function stop(c: CommandContext, id: string): Promise<void> {
  await withStore(c, { accounts: 'optional', prepare: false, problems: [] }, async ({ db }) => {
    const { run_id, note } = await stopReconcile(actionContextOf(c, db), id)
    c.host.stdout.write(`reconcile run ${run_id} is stopped: ${note ?? ''}\n`)
  })
}

async function list(c: CommandContext, options: { account?: string; limit: string; json?: boolean }): Promise<void> {
  const problems: string[] = []
  const limit = parseCount(options.limit, '--limit', MAX_LISTED, problems)
  await withStore(c, { accounts: 'optional', prepare: false, problems }, async ({ config, db }) => {
    await refuseUnknownNames(db.read, config, { account: options.account })
    const runs = await listRuns(db.read, { account: options.account, limit })
    if (options.json) return printJson(c, runs)
    printTable(c, runsTable(runs, c.clock.now()), 'No run.')
  })
}

async function show(c: CommandContext, id: string, options: { json?: boolean; report?: string }): Promise<void> {
  const problem = options.report === undefined ? null : reportProblem(options.report)
  const problems = problem === null ? [] : [problem]
  await withStore(c, { accounts: 'optional', prepare: false, problems }, async ({ db }) => {
    const run = await findRun(db.read, id)
    if (run === null)
      throw new UsageError([`there is no reconcile run ${printableLine(id)}; \`submission-mirror reconcile list\` lists them`])
    const { stdout } = c.host
    if (options.json) {
      await writeRunJson(stdout, db, run)
      stdout.write('\n')
    }
    if (options.report !== undefined) await writeReport(c, db, run.run_id, options.report)
    if (options.json || options.report !== undefined) return
    stdout.write(runSummary(run))
    for await (const page of findingsOf(db, run.run_id)) stdout.write(`\n${table({ ...findingsTable(page), width: widthOf(c) })}`)
  })
}

/** Writes a run and all its findings as JSON, page by page: they may not fit into memory. */
export async function writeRunJson(output: Output, db: Db, run: RunRow): Promise<void> {
  output.write(`${JSON.stringify(run).slice(0, -1)},"findings":[`)
  let first = true
  for await (const page of findingsOf(db, run.run_id)) {
    output.write(`${first ? '' : ','}\n${page.map((one) => JSON.stringify(one)).join(',\n')}`)
    first = false
  }
  output.write(']}')
}

async function* findingsOf(db: Db, runId: string) {
  for (let after = 0; ; ) {
    const page = await listFindings(db.read, { runId, after, limit: PAGE })
    const last = page.at(-1)
    if (last === undefined) return
    yield page
    after = last.finding_no
  }
}

/** Writes the report of a run to a file, as Markdown or HTML by its ending. */
export async function writeReport(c: CommandContext, db: Db, runId: string, file: string): Promise<void> {
  const data = await readReport(db.read, runId, c.version)
  if (data === null) throw new UsageError([`there is no report of run ${runId}: it has not begun`])
  await writeReportFile(file, data)
  c.host.stderr.write(`the report is in ${file}\n`)
}
