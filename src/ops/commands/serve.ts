import type { Command } from 'commander'
import { UsageError } from '../../errors.ts'
import { choiceIn } from '../arguments.ts'
import { type CommandContext, sendingSettingsOf } from './context.ts'

const ROLES = ['all', 'receive', 'work'] as const

/** `serve [--role all|receive|work]` */
export function addServe(program: Command, c: CommandContext): void {
  program
    .command('serve')
    .description('take deliveries, poll the feeds, keep the mirror, push what changes to destinations')
    .option('--role <role>', 'all, receive (deliveries are taken, work waits) or work; for several processes on Postgres', 'all')
    .action(async (options: { role: string }) => {
      const problems: string[] = []
      const role = choiceIn(options.role, '--role', ROLES, problems)
      const load = async () => {
        const config = await sendingSettingsOf(c, { accounts: 'needed', problems })
        if (role === 'work' && config.database.kind === 'sqlite') {
          throw new UsageError([
            '--role work: a SQLite database has one serve, which must take deliveries too; use --role all, or Postgres',
          ])
        }
        return config
      }
      await c.parts.serve(load, role ?? 'all')
    })
}
