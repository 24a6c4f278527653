import type { Command } from 'commander'
import { UsageError } from '../../../base/errors.ts'
import type { Config } from '../../../config/config.ts'
import { protectStatus, rotate, showProtected } from '../../actions/protect.ts'
import { exitCodes } from '../exit-codes.ts'
import { accountOf, actionContextOf, type CommandContext, printJson, withStore } from './context.ts'

/** `protect status|rotate|show` */
export function addProtect(program: Command, c: CommandContext): void {
  const protect = program.command('protect').description('see how stored tax ids are protected, encrypt them anew, read one')
  protect
    .command('status')
    .description('how tax ids are stored, and how far older rows have been brought to it')
    .option('--json', 'as JSON, for programs')
    .action((options: { json?: boolean }) => status(c, options.json ?? false))
  protect
    .command('rotate')
    .description('encrypt every stored tax id with the first of PROTECT_KEYS; the others can then be removed')
    .action(() => rotateNow(c))
  protect
    .command('show')
    .description('print one row with its tax ids in plain text; who asked is noted in operator_actions')
    .argument('<table>', 'of service data')
    .argument('<key>', 'after the account: a JSON array as in changes.entity_id, or its only value')
    .option('--account <name>', 'the account of the row; the default account when left out')
    .action((table: string, key: string, options: { account?: string }) => show(c, table, key, options.account))
}

async function status(c: CommandContext, json: boolean): Promise<void> {
  await withStore(c, { accounts: 'optional', prepare: false, problems: [] }, async ({ db }) => {
    const now = await protectStatus(db)
    if (json) return printJson(c, now)
    const how = { drop: 'are not stored', encrypt: `are encrypted with the key ${now.key_id}`, keep: 'are stored in plain text' }[now.mode]
    const rest = now.done
      ? 'every stored row is in this form'
      : `${now.tables_done} of ${now.tables} tables are in this form; a running \`serve\` does the rest, or \`submission-mirror protect rotate\` now`
    c.host.stdout.write(`tax ids ${how} (PROTECT=${now.mode}); ${rest}; ${now.rows_rewritten} rows were rewritten\n`)
  })
}

async function rotateNow(c: CommandContext): Promise<void> {
  await withStore(c, { accounts: 'optional', prepare: false, problems: [] }, async ({ db }) => {
    const done = await rotate(actionContextOf(c, db), (table) => void c.host.stderr.write(`${table} done\n`))
    if (done === 'held') {
      c.host.stderr.write('a running `serve` is doing it; `submission-mirror protect status` says how far it is\n')
      c.exitCode = exitCodes.busy
      return
    }
    c.host.stdout.write(`${done.rewritten} rows rewritten; every stored row is in the form that PROTECT asks for\n`)
  })
}

async function show(c: CommandContext, table: string, key: string, named: string | undefined): Promise<void> {
  const check = (config: Config) => {
    if (config.protect.keys.length === 0) throw new UsageError(['protect show: set PROTECT_KEYS, without which nothing can be decrypted'])
    return accountOf(config, named)
  }
  await withStore(c, { accounts: 'needed', prepare: false, problems: [], check }, async ({ config, db }) => {
    printJson(c, await showProtected(actionContextOf(c, db), accountOf(config, named).name, table, key))
  })
}
