import type { Command } from 'commander'
import type { Config } from '../../../config/config.ts'
import { createDocumentStorage } from '../../../documents/storage/create.ts'
import { parseTime } from '../../../model/time.ts'
import { parseUuid } from '../../../model/uuid.ts'
import { purgePreview, purgeSubmissions, submissionsGoneBefore } from '../../actions/purge.ts'
import { pluralize } from '../../output/text.ts'
import { accountOf, actionContextOf, type CommandContext, printJson, withStore } from './context.ts'

interface Options {
  readonly goneBefore?: string
  readonly dryRun?: boolean
  readonly account?: string
  readonly json?: boolean
}

/** `purge ID… | --gone-before DATE [--dry-run] [--account A]` */
export function addPurge(program: Command, c: CommandContext): void {
  program
    .command('purge')
    .description('remove everything that is kept of submissions, and do not track them again')
    .argument('[ids...]', 'ids of submissions')
    .option('--gone-before <date>', 'those that the service has not known since before this day (YYYY-MM-DD) or time')
    .option('--dry-run', 'only say what would be removed')
    .option('--account <name>', 'the account they belong to; the default account when left out')
    .option('--json', 'as JSON, for programs')
    .action((given: string[], options: Options) => purge(c, given, options))
}

async function purge(c: CommandContext, given: readonly string[], options: Options): Promise<void> {
  const problems: string[] = []
  const ids = given.flatMap((text) => parseUuid(text) ?? problem(problems, `${JSON.stringify(text)} is no submission id (a uuid)`))
  const before = options.goneBefore === undefined ? null : timeOf(options.goneBefore)
  if (options.goneBefore !== undefined && before === null)
    problems.push('purge: --gone-before must be a day, such as 2026-01-31, or a time')
  if (given.length > 0 === (options.goneBefore !== undefined)) problems.push('purge: give ids of submissions, or --gone-before')
  const check = (config: Config) => accountOf(config, options.account)
  await withStore(c, { accounts: 'needed', prepare: false, problems, check }, async ({ config, db }) => {
    const account = accountOf(config, options.account).name
    const a = actionContextOf(c, db)
    const wanted = before === null ? [...new Set(ids)] : await submissionsGoneBefore(a, account, before)
    const result = options.dryRun
      ? await purgePreview(a, account, wanted)
      : await purgeSubmissions(a, account, wanted, createDocumentStorage(config))
    if (options.json) return printJson(c, { dry_run: options.dryRun ?? false, ...result })
    const [would, not] = options.dryRun ? ['would be purged', 'would not be'] : ['purged', 'will not be']
    const names = options.dryRun ? result.submissions.map((id) => `${id}\n`).join('') : ''
    const unknown = result.unknown.length > 0 ? `; ${result.unknown.length} more had nothing here and ${not} tracked` : ''
    c.host.stdout.write(`${names}${pluralize(result.submissions.length, 'submission')} ${would} in account ${account}${unknown}\n`)
  })
}

function problem(problems: string[], text: string): [] {
  problems.push(text)
  return []
}

function timeOf(text: string): string | null {
  return parseTime(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text)
}
