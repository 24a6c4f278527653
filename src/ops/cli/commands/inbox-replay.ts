import type { Command } from 'commander'
import type { InboxFilter } from '../../../store/inbox/queries.ts'
import { replayRefused, replay as replayStored, settleAll, settleIds } from '../../actions/inbox.ts'
import { refuseUnknownNames } from '../../actions/unknown-names.ts'
import { pluralize } from '../../output/text.ts'
import { accountOf, actionContextOf, type CommandContext, type OpenStore, withStore } from './context.ts'
import { type ChoiceOptions, filterOf, isNarrowed, withChoice } from './inbox-choice.ts'

interface ReplayOptions extends ChoiceOptions {
  readonly rejected?: boolean
}

/** `inbox replay ID…|--state dead|aside` and `inbox replay --rejected` */
export function addReplay(inbox: Command, c: CommandContext): void {
  const command = inbox
    .command(replayStored.name)
    .description('work stored deliveries again, or verify refused ones again after a secret was mended')
  withChoice(command, replayStored.states)
    .option('--rejected', 'refused deliveries: those that verify now are stored, their time judged by when they came')
    .action((ids: string[], options: ReplayOptions) => replay(c, ids, options))
}

async function replay(c: CommandContext, ids: readonly string[], options: ReplayOptions): Promise<void> {
  const problems: string[] = []
  const filter = filterOf(c, options, replayStored.states, problems)
  const ways = [ids.length > 0, options.state !== undefined, options.rejected === true].filter(Boolean).length
  if (ways !== 1) problems.push('inbox replay: give ids, or --state, or --rejected, and only one of them')
  if (ids.length > 0 && isNarrowed(options)) {
    problems.push('inbox replay: --account, --since and --until go with --state or --rejected, not with ids')
  }
  const accounts = options.rejected ? 'needed' : 'optional'
  await withStore(c, { accounts, prepare: false, problems }, async (store) => {
    if (options.rejected) return tellReplayRefused(c, store, filter)
    await refuseUnknownNames(store.db.read, store.config, filter)
    const context = actionContextOf(c, store.db)
    const replayed = ids.length > 0 ? await settleIds(context, replayStored, ids) : await settleAll(context, replayStored, filter)
    c.host.stdout.write(`${pluralize(replayed, 'delivery', 'deliveries')} will be worked again\n`)
  })
}

async function tellReplayRefused(c: CommandContext, { config, db, log }: OpenStore, filter: InboxFilter): Promise<void> {
  const account = filter.account === undefined ? undefined : accountOf(config, filter.account).name
  const { accepted, refused } = await replayRefused(actionContextOf(c, db), log, config.accounts, { ...filter, account })
  c.host.stdout.write(`${pluralize(accepted, 'refused delivery', 'refused deliveries')} verified and will be worked\n`)
  for (const [reason, n] of Object.entries(refused)) c.host.stdout.write(`${n} still refused: ${reason}\n`)
}
