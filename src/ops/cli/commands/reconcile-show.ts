import { randomUUID } from 'node:crypto'
import { accessSync, constants, statSync } from 'node:fs'
import { basename, dirname, extname, join, resolve } from 'node:path'
import type { Command } from 'commander'
import { replaceFile } from '../../../base/durable-file.ts'
import { messageOf } from '../../../base/errors.ts'
import type { Output } from '../../../base/host.ts'
import { readReport } from '../../../reconcile/report/data.ts'
import { renderHtml } from '../../../reconcile/report/html.ts'
import type { ReportData } from '../../../reconcile/report/report-data.ts'
import type { Db } from '../../../store/engine/db.ts'
import { type FindingRow, listFindings } from '../../../store/reconcile/findings.ts'
import type { RunRow } from '../../../store/reconcile/runs.ts'
import { runShown } from '../../actions/reconcile.ts'
import { findingColumns, runSummary } from '../../output/reconcile-text.ts'
import { type CommandContext, printerOf, withStore } from './context.ts'

const PAGE = 1_000

/** Adds the command `reconcile show RUN`. */
export function addReconcileShow(reconcile: Command, c: CommandContext): void {
  reconcile
    .command('show')
    .description('show a run and its findings')
    .argument('<run>', 'its id, or the start of it')
    .option('--report <file>', 'write the report of the run to this .html file')
    .option('--json', 'as JSON, for programs')
    .action((id: string, options: { readonly json?: boolean; readonly report?: string }) => show(c, id, options))
}

async function show(c: CommandContext, id: string, options: { json?: boolean; report?: string }): Promise<void> {
  const problem = options.report === undefined ? null : reportProblem(options.report)
  const problems = problem === null ? [] : [problem]
  await withStore(c, { accounts: 'optional', prepare: false, problems }, async ({ db }) => {
    const run = await runShown(db.read, id)
    const { stdout } = c.host
    if (options.json) {
      await writeRunJson(stdout, db, run)
      stdout.write('\n')
    }
    if (options.report !== undefined) await writeReport(c, db, run, options.report)
    if (options.json || options.report !== undefined) return
    stdout.write(runSummary(run))
    for await (const page of findingsOf(db, run.run_id)) printFindings(c, page)
  })
}

export function printFindings(c: CommandContext, findings: readonly FindingRow[]): void {
  c.host.stdout.write('\n')
  printerOf(c).rows('Findings', findings, findingColumns, '')
}

/** Writes a run and its findings as JSON. Reads the findings page by page, because they may not fit into memory. */
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

/** @returns why a report can't be written to `path`; null if a report can be written. */
export function reportProblem(path: string): string | null {
  if (extname(path).toLowerCase() !== '.html') return `--report: ${JSON.stringify(path)} must end with .html`
  const folder = dirname(path)
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return `--report: the folder ${folder} does not exist; create it first`
  try {
    accessSync(folder, constants.W_OK)
    return null
  } catch (error) {
    return `--report: the folder ${resolve(folder)} is not writable (${messageOf(error)}); choose another one`
  }
}

/** Writes the report of a run to a file. @throws Error that names the file. */
export async function writeReport(c: CommandContext, db: Db, run: RunRow, file: string): Promise<void> {
  await writeReportFile(file, await readReport(db.read, run, c.version))
  c.host.stderr.write(`the report is in ${file}\n`)
}

/**
 * Writes a report to a temporary file, then renames that file to `path`. The file at `path` is always complete.
 * Replaces an existing file.
 * @throws Error that names the file.
 */
export async function writeReportFile(path: string, data: ReportData): Promise<void> {
  const temporary = join(dirname(path), `.${basename(path)}.${randomUUID()}`)
  try {
    // Use `replaceFile`, because the file must survive a power failure.
    await replaceFile(path, temporary, renderHtml(data))
  } catch (error) {
    throw new Error(
      `the report cannot be written to ${path} (${messageOf(error)}); the run is stored, so write its report to another file with \`reconcile show RUN --report FILE\``,
      {
        cause: error,
      },
    )
  }
}
