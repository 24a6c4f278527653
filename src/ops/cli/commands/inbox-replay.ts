import type { Command } from 'commander'
import type { InboxFilter } from '../../../store/inbox/queries.ts'
import { countChoice, replayRefused, replay as replayStored, settleAll, settleIds } from '../../actions/inbox.ts'
import { refuseUnknownNames } from '../../actions/unknown-names.ts'
import { pluralize } from '../../output/text.ts'
import { accountOf, actionContextOf, type CommandContext, type OpenStore, withStore } from './context.ts'
import { type ChoiceOptions, filterOf, isNarrowed, withChoice } from './inbox-choice.ts'

interface ReplayOptions extends ChoiceOptions {
  readonly rejected?: boolean
}

/** `inbox replay ID…`, `inbox replay` with a filter, and `inbox replay --rejected` */
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
  problems.push(...wrongWays(ids, options))
  const accounts = options.rejected ? 'needed' : 'optional'
  await withStore(c, { accounts, prepare: false, problems }, async (store) => {
    if (options.rejected) return tellReplayRefused(c, store, filter)
    await refuseUnknownNames(store.db.read, store.config, filter)
    const context = actionContextOf(c, store.db)
    if (options.dryRun) {
      const would = await countChoice(context, replayStored, ids.length > 0 ? ids : filter)
      c.host.stdout.write(`${pluralize(would, 'delivery', 'deliveries')} would be worked again\n`)
      return
    }
    const replayed = ids.length > 0 ? await settleIds(context, replayStored, ids) : await settleAll(context, replayStored, filter)
    c.host.stdout.write(`${pluralize(replayed, 'delivery', 'deliveries')} will be worked again\n`)
  })
}

function wrongWays(ids: readonly string[], options: ReplayOptions): string[] {
  const { rejected = false, state, submission, kind, text, dryRun } = options
  if (rejected) {
    if (ids.length > 0 || state !== undefined) return ['inbox replay: give ids, or a filter, or --rejected, and only one of them']
    const misplaced = (submission ?? kind ?? text) !== undefined || dryRun === true
    return misplaced ? ['inbox replay: with --rejected go --account, --since and --until alone'] : []
  }
  if (ids.length > 0 === (state !== undefined || isNarrowed(options))) {
    return ['inbox replay: give ids, or a filter like --state, or --rejected, and only one of them']
  }
  return []
}

async function tellReplayRefused(c: CommandContext, { config, db, log }: OpenStore, filter: InboxFilter): Promise<void> {
  const account = filter.account === undefined ? undefined : accountOf(config, filter.account).name
  const { accepted, refused } = await replayRefused(actionContextOf(c, db), log, config.accounts, { ...filter, account })
  c.host.stdout.write(`${pluralize(accepted, 'refused delivery', 'refused deliveries')} verified and will be worked\n`)
  for (const [reason, n] of Object.entries(refused)) c.host.stdout.write(`${n} still refused: ${reason}\n`)
}
