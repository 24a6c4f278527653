import type { Command } from 'commander'
import { readStatus } from '../../status/status.ts'
import { statusText } from '../status-text.ts'
import { type CommandContext, printJson, widthOf, withStore } from './context.ts'

/** `status [--json]` */
export function addStatus(program: Command, c: CommandContext): void {
  program
    .command('status')
    .description('say whether the mirror is complete and fresh, what needs a person, and how it is in numbers')
    .option('--json', 'as JSON, for programs')
    .action(async (options: { json?: boolean }) => {
      await withStore(c, { accounts: 'optional', prepare: false, problems: [] }, async ({ config, db }) => {
        const status = await readStatus(db, c.version, config)
        if (options.json) printJson(c, status)
        else c.host.stdout.write(statusText(status, c.clock.now(), widthOf(c)))
      })
    })
}
