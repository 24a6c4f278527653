import type { Command } from 'commander'
import { exitCodes } from '../exit-codes.ts'
import type { CommandContext } from './context.ts'

/** `demo [--folder F] [--hold]` */
export function addDemo(program: Command, c: CommandContext): void {
  program
    .command('demo')
    .description('show the whole in half a minute: an emulated service with faults, and a mirror that agrees with it in the end')
    .option('--folder <folder>', 'where the database is left (default: a new folder below data/)')
    .option('--hold', 'keep everything running after the end, to look around, until Ctrl+C')
    .action(async (options: { folder?: string; hold?: boolean }) => {
      const agrees = await c.parts.demo({ folder: options.folder, hold: options.hold === true })
      if (!agrees) c.exitCode = exitCodes.failed
    })
}
