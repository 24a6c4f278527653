import type { Command } from 'commander'
import type { ListedState, OutboxFilter } from '../../../store/outbox/queries.ts'
import { parseChoice, parseMoment, parseSubmissionId } from '../../actions/arguments.ts'
import type { CommandContext } from './context.ts'

/** The options that select rows of the outbox. */
export interface ChoiceOptions {
  readonly destination?: string
  readonly submission?: string
  readonly account?: string
  readonly state?: string
  readonly since?: string
  readonly until?: string
  readonly dryRun?: boolean
}

/** Adds the options that select rows. */
export function withChoice(command: Command, states: readonly string[]): Command {
  return command
    .option('--destination <name>', 'only to this destination')
    .option('--submission <id>', 'only of this submission')
    .option('--account <name>', 'only of this account')
    .option('--state <state>', states.join(', '))
    .option('--since <time>', 'only queued since: a date, a date-time, or how long ago (2h, 7d)')
    .option('--until <time>', 'only queued before')
    .option('--dry-run', 'only tell how many there are')
}

/** The filter of the options. @param problems gets a line for each invalid one. */
export function filterOf<S extends ListedState>(
  c: CommandContext,
  options: ChoiceOptions,
  states: readonly S[],
  problems: string[],
): Omit<OutboxFilter, 'state'> & { readonly state: S | undefined } {
  const now = c.clock.now()
  return {
    destination: options.destination,
    account: options.account,
    submissionId: parseSubmissionId(options.submission, '--submission', problems),
    state: parseChoice(options.state, '--state', states, problems),
    since: parseMoment(options.since, '--since', now, problems),
    until: parseMoment(options.until, '--until', now, problems),
  }
}
