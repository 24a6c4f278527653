import type { Command } from 'commander'
import { parseCount } from '../../actions/arguments.ts'
import { refuseUnknownNames } from '../../actions/unknown-names.ts'
import { ago } from '../../output/text.ts'
import { newestFound } from '../../status/found-without-webhook.ts'
import { type CommandContext, printJson, printTable, withStore } from './context.ts'

const MAX_LISTED = 1_000

interface LostOptions {
  readonly account?: string
  readonly limit: string
  readonly json?: boolean
}

/** `inbox lost` */
export function addLost(inbox: Command, c: CommandContext): void {
  inbox
    .command('lost')
    .description('list the newest events and messages that a reading of the feeds found, and of which no webhook has told')
    .option('--account <name>', 'only of this account')
    .option('--limit <n>', 'how many at most', '50')
    .option('--json', 'as JSON, for programs')
    .action((options: LostOptions) => lost(c, options))
}

async function lost(c: CommandContext, options: LostOptions): Promise<void> {
  const problems: string[] = []
  const limit = parseCount(options.limit, '--limit', MAX_LISTED, problems)
  const { account } = options
  await withStore(c, { accounts: 'optional', prepare: false, problems }, async ({ config, db }) => {
    await refuseUnknownNames(db.read, config, { account })
    const found = await newestFound(db, config.accounts, { account, limit })
    if (options.json) return printJson(c, found)
    const now = c.clock.now()
    const headings = ['found ago', 'by', 'happened ago', 'insured', 'what', 'market', 'submission', 'webhook']
    const rows = found.map((each) => [
      ...[ago(each.known_at, now), each.known_via, ago(each.occurred_at, now), each.insured_name, each.what, each.market_name],
      ...[each.submission_id, each.before_tracked ? 'before it was tracked' : each.lost ? 'lost' : 'may still come'],
    ])
    printTable(c, { title: 'Found without a webhook, the newest first', headings, rows }, 'Whatever came was told of by a webhook.')
  })
}
