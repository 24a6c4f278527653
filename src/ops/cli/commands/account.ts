import type { Command } from 'commander'
import { resumeAccount, type ShownAccount, shownAccounts } from '../../actions/accounts.ts'
import { ago, until } from '../../output/text.ts'
import { secretsText } from '../../status/webhook-secrets.ts'
import { actionContextOf, type CommandContext, printJson, printTable, withStore } from './context.ts'

/** `account list|resume` */
export function addAccount(program: Command, c: CommandContext): void {
  const account = program.command('account').description('look at accounts, and let a stopped one try again')
  account
    .command('list')
    .description(
      'list the accounts: state, brokerage, when each credential got a token last, and when each webhook secret verified a delivery last',
    )
    .option('--json', 'as JSON, for programs')
    .action((options: { json?: boolean }) => list(c, options.json ?? false))
  account
    .command('resume')
    .description('let a parked or paused account try at once instead of at its time')
    .argument('<name>', 'of the account')
    .action((name: string) => resume(c, name))
}

async function list(c: CommandContext, json: boolean): Promise<void> {
  await withStore(c, { accounts: 'optional', prepare: false, problems: [] }, async ({ config, db }) => {
    const accounts = await shownAccounts(db.read, config.accounts)
    if (json) return printJson(c, accounts)
    const now = c.clock.now()
    const headings = [
      ...['account', 'state', 'for', 'next try', 'brokerage', 'client id'],
      { heading: 'last token by credential', fit: 'below' } as const,
      { heading: 'last good signature by secret', fit: 'below' } as const,
      { heading: 'reason', fit: 'below' } as const,
    ]
    const rows = accounts.map((a) => [
      ...[a.account, a.state, ago(a.since, now), until(a.retry_at, now), a.brokerage, a.client_id],
      ...[credentialsText(a, now), secretsText(a.webhook_secrets, now), a.reason],
    ])
    printTable(c, { title: 'Accounts', headings, rows }, 'There is no account yet.')
  })
}

/** @returns `bac_1: 3 min ago, bac_2: never`. */
function credentialsText({ credentials }: ShownAccount, nowMs: number): string {
  return credentials.map(({ client_id: id, last_token_at: at }) => `${id}: ${at === null ? 'never' : `${ago(at, nowMs)} ago`}`).join(', ')
}

async function resume(c: CommandContext, name: string): Promise<void> {
  await withStore(c, { accounts: 'optional', prepare: false, problems: [] }, async ({ config, db }) => {
    const { before, resumed, running } = await resumeAccount(actionContextOf(c, db), config.accounts, name)
    if (!resumed) {
      c.host.stdout.write(`account ${name} is active: there is nothing to resume\n`)
      return
    }
    const when = running ? 'now' : 'as soon as `submission-mirror serve` runs'
    c.host.stdout.write(`account ${name} was ${before.state} (${before.reason ?? 'no reason is kept'})\n`)
    c.host.stdout.write(`it asks the service again ${when}, and is active when that succeeds; see \`submission-mirror account list\`\n`)
  })
}
