import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import { UsageError } from '../../../base/errors.ts'
import { DeliveryVerifier } from '../../../upstream/webhook/signature.ts'
import { parseMoment, parseSubmissionId } from '../../actions/arguments.ts'
import { accountNamed } from '../../actions/names.ts'
import { pluralize } from '../../output/text.ts'
import { checkRecord } from '../../record/check.ts'
import { exportRecord } from '../../record/export.ts'
import { exitCodes } from '../exit-codes.ts'
import { actionContextOf, type CommandContext, settingsOf, withStore, writeNewFile } from './context.ts'

type ExportOptions = Partial<Record<'account' | 'until' | 'to' | 'check', string>>

/** Adds `submission export`. The other commands of `submission` are operations. */
export function addSubmissionExport(submission: Command, c: CommandContext): void {
  submission
    .command('export')
    .description('export everything about a submission as a ZIP file with its sources, or check such a file; exports are audited')
    .argument('[id]', 'submission id')
    .option('--account <name>', 'account of the submission; the default account if omitted')
    .option('--until <time>', 'as the mirror knew it at this time: a date, a date-time (UTC), or an age such as `7d`; default: now')
    .option('--to <file>', 'write to this new file')
    .option('--check <file>', 'check an exported file, and its signatures if the webhook secrets are configured')
    .action((id: string | undefined, options: ExportOptions) =>
      options.check === undefined ? write(c, id, options) : check(c, options.check),
    )
}

async function write(c: CommandContext, given: string | undefined, { account, until, to }: ExportOptions): Promise<void> {
  const problems = given === undefined || to === undefined ? ['give a submission id and --to FILE, or --check FILE'] : []
  const submissionId = parseSubmissionId(given, 'id', problems)
  const time = parseMoment(until, '--until', c.clock.now(), problems)
  await withStore(c, { accounts: 'optional', prepare: false, problems }, async ({ config, db }) => {
    if (submissionId === undefined || to === undefined) return
    const of = { account: account ?? accountNamed(config, account, '--account').name, submissionId }
    const parts = { ...actionContextOf(c, db), config, version: c.version }
    await writeNewFile(c, to, () => exportRecord(parts, of, time))
    c.host.stdout.write(`exported submission ${submissionId} to ${to}\n`)
  })
}

async function check(c: CommandContext, path: string): Promise<void> {
  if (!existsSync(path)) throw new UsageError([`--check: ${path} does not exist; check the path`])
  const { accounts } = settingsOf(c, { accounts: 'optional', problems: [] })
  const verifiers = new Map(accounts.map(({ name, webhookSecrets }) => [name, new DeliveryVerifier(webhookSecrets)]))
  const { files, verified, unverified, problems } = await checkRecord(path, verifiers)
  for (const problem of problems) c.host.stderr.write(`${problem}\n`)
  const signatures = `${pluralize(verified, 'signature')} verified, ${unverified} not checked`
  c.host.stdout.write(`${pluralize(files, 'file')} checked, ${pluralize(problems.length, 'problem')}; ${signatures}\n`)
  if (problems.length > 0) c.exitCode = exitCodes.failed
}
