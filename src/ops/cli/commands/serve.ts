import type { Command } from 'commander'
import { UsageError } from '../../../base/errors.ts'
import type { Config } from '../../../config/config.ts'
import { parseChoice } from '../../actions/arguments.ts'
import { type CommandContext, sendingSettingsOf } from './context.ts'

const ROLES = ['all', 'receive', 'work'] as const

/** Adds the command `serve [--role all|receive|work]`. */
export function addServe(program: Command, c: CommandContext): void {
  program
    .command('serve')
    .description('receive deliveries, poll feeds, update the mirror, and push changes to destinations')
    .option('--role <role>', 'all, receive (only store deliveries) or work; for several processes on Postgres', 'all')
    .action(async (options: { role: string }) => {
      const problems: string[] = []
      const role = parseChoice(options.role, '--role', ROLES, problems)
      const check = ({ database }: Config) => {
        if (role !== 'work' || database.kind === 'postgres') return
        throw new UsageError([
          '--role work: a SQLite database has one serve, which must also receive deliveries; use --role all, or Postgres',
        ])
      }
      const load = () => sendingSettingsOf(c, { accounts: 'needed', problems, check })
      await c.parts.serve(load, role ?? 'all')
    })
}
