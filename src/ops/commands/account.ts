import type { Command } from 'commander'
import { UsageError } from '../../errors.ts'
import { retryAccountNow } from '../../store/accounts.ts'
import { listProcesses } from '../../store/processes.ts'
import { knownAccounts } from '../known-accounts.ts'
import { table } from '../table.ts'
import { shortTime } from '../text.ts'
import { type CommandContext, printJson, withStore } from './context.ts'

/** `account list|resume` */
export function addAccount(program: Command, c: CommandContext): void {
  const account = program.command('account').description('look at accounts, and let a stopped one try again')
  account
    .command('list')
    .description('list the accounts, their state, and which brokerage each belongs to')
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
    const accounts = await knownAccounts(db.read, config.accounts)
    if (json) return printJson(c, accounts)
    c.host.stdout.write(
      table(
        ['account', 'state', 'since', 'tries again', 'brokerage', 'client id', 'reason'],
        accounts.map((a) => [a.account, a.state, shortTime(a.since), shortTime(a.retry_at), a.brokerage, a.client_id, a.reason]),
      ),
    )
  })
}

async function resume(c: CommandContext, name: string): Promise<void> {
  await withStore(c, { accounts: 'optional', prepare: false, problems: [] }, async ({ config, db }) => {
    const known = await knownAccounts(db.read, config.accounts)
    const row = known.find((each) => each.account === name)
    if (row === undefined) {
      const names = known.map((each) => each.account).join(', ')
      throw new UsageError([`there is no account ${JSON.stringify(name)}; there is ${names || 'none yet'}`])
    }
    if (row.state === 'not started') throw new UsageError([`account ${name} was never served; start \`submission-mirror serve\``])
    if (row.state === 'not configured')
      throw new UsageError([`account ${name} is not in the settings; put it back, then start \`serve\` anew`])
    if (row.state === 'active') {
      c.host.stdout.write(`account ${name} is active: there is nothing to resume\n`)
      return
    }
    await retryAccountNow(db, name)
    const running = (await listProcesses(db.read)).some((process) => process.role !== 'receive')
    const when = running ? 'now' : 'as soon as `submission-mirror serve` runs'
    c.host.stdout.write(`account ${name} was ${row.state} (${row.reason ?? 'no reason is kept'})\n`)
    c.host.stdout.write(`it asks the service again ${when}, and is active when that succeeds; see \`submission-mirror account list\`\n`)
  })
}
