import type { Command } from 'commander'
import type { Config } from '../../../config/config.ts'
import { parseUuid } from '../../../model/uuid.ts'
import { readTextFile } from '../../actions/arguments.ts'
import { trackKnownIds, trackSubmissions } from '../../actions/submissions.ts'
import { firstProblems, pluralize } from '../../output/text.ts'
import { readIdFile } from '../id-file.ts'
import { type NamedOptions, namedIds } from '../named-ids.ts'
import { accountOf, actionContextOf, type CommandContext, withStore } from './context.ts'

interface TrackOptions extends NamedOptions {
  file?: string
  account?: string
  again?: boolean
}

/** `track [ID…] [--file F] [--bind-request ID…] [--policy ID…] [--insured ID…] [--account A]` */
export function addTrack(program: Command, c: CommandContext): void {
  program
    .command('track')
    .description('make submissions known: their feeds are read from the beginning and kept up to date')
    .argument('[ids...]', 'ids of submissions')
    .option('--file <file>', 'more ids: one in each line, or a CSV with a column submission_id')
    .option('--account <name>', 'the account they belong to; the default account when left out')
    .option('--again', 'submissions that were purged too')
    .option('--bind-request <id...>', 'bind requests of the one submission that is given')
    .option('--policy <id...>', 'policies, of the submission when one is given')
    .option('--insured <id...>', 'insureds, of the submission when one is given')
    .action(async (given: string[], options: TrackOptions) => {
      const problems: string[] = []
      const ids = idsOf(given, options.file, problems)
      const named = namedIds(options, ids, problems)
      if (ids.length + named.length === 0 && problems.length === 0) problems.push(noIds(options.file))
      const check = (config: Config) => accountOf(config, options.account)
      await withStore(c, { accounts: 'needed', prepare: true, problems, check }, async ({ config, db }) => {
        const account = accountOf(config, options.account).name
        const context = actionContextOf(c, db)
        if (ids.length > 0) {
          const { added, known, purged } = await trackSubmissions(context, account, ids, options.again)
          const left =
            purged > 0
              ? `; ${pluralize(purged, 'submission')} purged before: track with --again to mirror ${purged === 1 ? 'it' : 'them'} once more`
              : ''
          c.host.stdout.write(`${pluralize(added, 'new submission')} tracked in account ${account}; ${known} known before${left}\n`)
        }
        if (named.length === 0) return
        const added = await trackKnownIds(context, account, named)
        c.host.stdout.write(`${pluralize(added, 'new id')} known in account ${account}; ${named.length - added} known before\n`)
      })
    })
}

function noIds(file: string | undefined): string {
  return file === undefined ? 'track: give ids of submissions, or a --file of them' : `track: ${file} contains no ids`
}

/** The distinct ids of arguments and file. */
function idsOf(given: readonly string[], file: string | undefined, problems: string[]): string[] {
  const ids = new Set<string>()
  for (const text of given) {
    const id = parseUuid(text)
    if (id === null) problems.push(`${JSON.stringify(text)} is no submission id (a uuid)`)
    else ids.add(id)
  }
  const text = file === undefined ? undefined : readTextFile(file, problems)
  if (file === undefined || text === undefined) return [...ids]
  const read = readIdFile(text, file)
  problems.push(...firstProblems(read.problems))
  for (const id of read.ids) ids.add(id)
  return [...ids]
}
