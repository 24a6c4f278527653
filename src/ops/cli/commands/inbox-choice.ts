import type { Command } from 'commander'
import type { InboxFilter } from '../../../store/inbox/queries.ts'
import type { InboxState } from '../../../store/schema/tables.ts'
import { parseChoice, parseMoment } from '../../actions/arguments.ts'
import type { CommandContext } from './context.ts'

/** The options that select stored deliveries. */
export interface ChoiceOptions {
  readonly state?: string
  readonly account?: string
  readonly since?: string
  readonly until?: string
}

/** Adds the arguments and options that select deliveries. */
export function withChoice(command: Command, states: readonly InboxState[]): Command {
  return command
    .argument('[ids...]', 'ids of deliveries (svix-id), or their numbers in the list')
    .option('--state <state>', `all deliveries in this state: ${states.join(', ')}`)
    .option('--account <name>', 'only of this account')
    .option('--since <time>', 'only received since: a date, a date-time, or how long ago (2h, 7d)')
    .option('--until <time>', 'only received before')
}

/** The filter of the options. @param problems gets a line for each invalid one. */
export function filterOf(c: CommandContext, options: ChoiceOptions, states: readonly InboxState[], problems: string[]): InboxFilter {
  return {
    state: parseChoice(options.state, '--state', states, problems),
    account: options.account,
    since: parseMoment(options.since, '--since', c.clock.now(), problems),
    until: parseMoment(options.until, '--until', c.clock.now(), problems),
  }
}

/** Whether options narrow what `--state` selects. */
export function isNarrowed({ account, since, until }: ChoiceOptions): boolean {
  return (account ?? since ?? until) !== undefined
}
