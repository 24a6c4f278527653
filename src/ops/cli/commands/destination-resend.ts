import type { Command } from 'commander'
import { parseChoice, parseMoment, parseSeqRange, parseSubmissionId } from '../../actions/arguments.ts'
import { type PreparedResend, prepareResend, type ResendRequest, resend, resendEntities, shownResend } from '../../actions/resend.ts'
import { pluralize } from '../../output/text.ts'
import { actionContextOf, type CommandContext, printJson, withStore } from './context.ts'

interface Options {
  readonly since?: string
  readonly until?: string
  readonly seq?: string
  readonly submission?: string
  readonly entity?: string
  readonly newIds?: boolean
  readonly dryRun?: boolean
  readonly json?: boolean
}

/** `destination resend NAME FILTERS [--dry-run] [--new-ids]` */
export function addResend(destination: Command, c: CommandContext): void {
  destination
    .command('resend')
    .description('send changes again that a destination lost, in their order, behind what waits')
    .argument('<name>', 'of the destination')
    .option('--since <time>', 'only changes logged since: a date, a date-time, or how long ago (2h, 7d)')
    .option('--until <time>', 'only changes logged before')
    .option('--seq <a-b>', 'only changes with these numbers')
    .option('--submission <id>', 'only of this submission')
    .option('--entity <table>', 'only of this table, such as quotes')
    .option('--new-ids', 'under new message ids, for a receiver that leaves out the ids it has seen')
    .option('--dry-run', 'only say how many they are')
    .option('--json', 'as JSON, for programs')
    .action((name: string, options: Options) => run(c, name, options))
}

async function run(c: CommandContext, name: string, options: Options): Promise<void> {
  const problems: string[] = []
  const request = requestOf(c, options, problems)
  await withStore(c, { accounts: 'optional', prepare: false, problems }, async ({ config, db }) => {
    const a = actionContextOf(c, db)
    const prepared = await prepareResend(a, config, name, request)
    const isDryRun = options.dryRun === true
    if (options.json !== true) c.host.stdout.write(textOf(prepared, isDryRun))
    const isNothing = isDryRun || prepared.plan.changes === 0
    const queued = isNothing ? 0 : await resend(a, prepared)
    if (options.json === true) return printJson(c, { dry_run: isDryRun, queued, ...shownResend(prepared) })
    if (!isNothing) c.host.stdout.write(`${pluralize(queued, 'change')} queued\n`)
  })
}

function requestOf(c: CommandContext, options: Options, problems: string[]): ResendRequest {
  const { since, until, seq, submission, entity } = options
  const asked = Object.fromEntries(
    Object.entries({ since, until, seq, submission_id: submission, entity }).filter(
      (pair): pair is [string, string] => pair[1] !== undefined,
    ),
  )
  if (Object.keys(asked).length === 0)
    problems.push('destination resend: say which changes by --since, --until, --seq, --submission, --entity')
  const now = c.clock.now()
  const selection = {
    since: parseMoment(since, '--since', now, problems),
    until: parseMoment(until, '--until', now, problems),
    seq: parseSeqRange(seq, '--seq', problems),
    submissionId: parseSubmissionId(submission, '--submission', problems),
    entity: parseChoice(entity, '--entity', resendEntities, problems),
  }
  return { selection, asked, newIds: options.newIds === true }
}

/** How many they are, and what to know of it. */
function textOf({ destination, plan, notes }: PreparedResend, isDryRun: boolean): string {
  const { changes, submissions, firstSeq, lastSeq } = plan
  const which = firstSeq === null ? '' : ` of ${pluralize(submissions, 'submission')} (numbers ${firstSeq} to ${lastSeq})`
  const verb = isDryRun ? 'would be sent' : 'will be sent'
  return [`${pluralize(changes, 'change')}${which} ${verb} again to ${destination.name}`, ...notes.map((note) => `- ${note}`), ''].join(
    '\n',
  )
}
