import type { Command } from 'commander'
import { countChoice, settleAll, settleIds, skip } from '../../actions/inbox.ts'
import { refuseUnknownNames } from '../../actions/unknown-names.ts'
import { pluralize } from '../../output/text.ts'
import { actionContextOf, type CommandContext, withStore } from './context.ts'
import { type ChoiceOptions, filterOf, isNarrowed, withChoice } from './inbox-choice.ts'

/** `inbox skip ID…|--state dead` */
export function addSkip(inbox: Command, c: CommandContext): void {
  const command = inbox.command(skip.name).description('give dead deliveries up: they are set aside, and nobody is told of them any more')
  withChoice(command, skip.states).action((ids: string[], options: ChoiceOptions) => skipThem(c, ids, options))
}

async function skipThem(c: CommandContext, ids: readonly string[], options: ChoiceOptions): Promise<void> {
  const problems: string[] = []
  const filter = filterOf(c, options, skip.states, problems)
  if (ids.length > 0 === (options.state !== undefined)) problems.push('inbox skip: give ids, or --state dead, and only one of them')
  if (ids.length > 0 && isNarrowed(options)) {
    problems.push('inbox skip: --account, --submission, --kind, --text, --since and --until go with --state, not with ids')
  }
  await withStore(c, { accounts: 'optional', prepare: false, problems }, async ({ config, db }) => {
    await refuseUnknownNames(db.read, config, filter)
    const context = actionContextOf(c, db)
    if (options.dryRun) {
      const would = await countChoice(context, skip, ids.length > 0 ? ids : filter)
      c.host.stdout.write(`${pluralize(would, 'dead delivery', 'dead deliveries')} would be set aside\n`)
      return
    }
    const skipped = ids.length > 0 ? await settleIds(context, skip, ids) : await settleAll(context, skip, filter)
    c.host.stdout.write(`${pluralize(skipped, 'dead delivery', 'dead deliveries')} set aside\n`)
  })
}
