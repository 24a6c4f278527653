import type { Command } from 'commander'
import { countOutbox, retry, type StateChange, settleOutbox, skip } from '../../actions/outbox.ts'
import { refuseUnknownNames } from '../../actions/unknown-names.ts'
import { pluralize } from '../../output/text.ts'
import { actionContextOf, type CommandContext, withStore } from './context.ts'
import { type ChoiceOptions, filterOf, withChoice } from './outbox-choice.ts'

/** `outbox retry ID…|FILTERS` and `outbox skip ID…|FILTERS`; without `--state`, filters select dead and unknown rows. */
export function addRetryAndSkip(outbox: Command, c: CommandContext): void {
  add(outbox, c, 'try changes again that were given up (without --state: dead letters and unknown outcomes)', retry, 'will be tried again')
  add(
    outbox,
    c,
    'give changes up for good, so that what waits behind them goes on (without --state: dead letters and unknown outcomes)',
    skip,
    'will not be sent any more',
  )
}

function add(outbox: Command, c: CommandContext, description: string, change: StateChange, done: string): void {
  const command = outbox
    .command(change.name)
    .description(description)
    .argument('[ids...]', 'numbers in the list, or message ids (webhook-id), with --destination for a message to several')
  withChoice(command, change.states).action((ids: string[], options: ChoiceOptions) => settle(c, change, done, ids, options))
}

async function settle(c: CommandContext, change: StateChange, done: string, ids: readonly string[], options: ChoiceOptions): Promise<void> {
  const problems: string[] = []
  const filter = filterOf(c, options, change.states, problems)
  const { destination, dryRun, ...others } = options
  const narrowed = Object.values(others).some((option) => option !== undefined)
  if (ids.length === 0 && !narrowed && destination === undefined) {
    problems.push(
      `outbox ${change.name}: give ids, or say which changes by --destination, --state, --submission, --account, --since, --until`,
    )
  }
  if (ids.length > 0 && narrowed) problems.push(`outbox ${change.name}: ids go with --destination alone; leave the other options out`)
  await withStore(c, { accounts: 'optional', prepare: false, problems }, async ({ config, db, log }) => {
    if (ids.length === 0) await refuseUnknownNames(db.read, config, filter)
    const choice = ids.length > 0 ? { ids, destination, field: '--destination' } : { filter }
    if (dryRun) {
      const would = await countOutbox(actionContextOf(c, db), change, choice)
      c.host.stdout.write(`${pluralize(would, 'change')} would be meant by ${change.name}\n`)
      return
    }
    const { changed, inFlight } = await settleOutbox({ ...actionContextOf(c, db), config, log }, change, choice)
    c.host.stdout.write(`${pluralize(changed, 'change')} ${done}\n`)
    if (inFlight > 0) c.host.stdout.write(`${inFlight} left alone, because they are in flight; repeat the command\n`)
  })
}
