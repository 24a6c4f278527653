import type { Command } from 'commander'
import type { InboxState } from '../../../store/schema/tables.ts'
import { parseChoice, parseMoment, parseSubmissionId } from '../../actions/arguments.ts'
import type { DeliveryChoice } from '../../actions/inbox.ts'
import type { CommandContext } from './context.ts'

/** The options that select stored deliveries. */
export interface ChoiceOptions {
  readonly state?: string
  readonly account?: string
  readonly since?: string
  readonly until?: string
  readonly submission?: string
  readonly kind?: string
  readonly text?: string
  readonly dryRun?: boolean
}

/** Adds the arguments and options that select deliveries. */
export function withChoice(command: Command, states: readonly InboxState[]): Command {
  return command
    .argument('[ids...]', 'ids of deliveries (svix-id), or their numbers in the list')
    .option('--state <state>', `all deliveries in this state: ${states.join(', ')}`)
    .option('--account <name>', 'only of this account')
    .option('--since <time>', 'only received since: a date, a date-time, or how long ago (2h, 7d)')
    .option('--until <time>', 'only received before')
    .option('--submission <id>', 'only of this submission')
    .option('--kind <type>', 'only of this type, like submission.events')
    .option('--text <part>', "only those with this part in their id, their error or their submission's id")
    .option('--dry-run', 'only tell how many there are')
}

/** The filter of the options. @param problems gets a line for each invalid one. */
export function filterOf(c: CommandContext, options: ChoiceOptions, states: readonly InboxState[], problems: string[]): DeliveryChoice {
  return {
    state: parseChoice(options.state, '--state', states, problems),
    account: options.account,
    submissionId: parseSubmissionId(options.submission, '--submission', problems),
    kind: options.kind,
    text: options.text,
    since: parseMoment(options.since, '--since', c.clock.now(), problems),
    until: parseMoment(options.until, '--until', c.clock.now(), problems),
  }
}

/** Whether options narrow what `--state` selects. */
export function isNarrowed({ account, since, until, submission, kind, text }: ChoiceOptions): boolean {
  return (account ?? since ?? until ?? submission ?? kind ?? text) !== undefined
}
