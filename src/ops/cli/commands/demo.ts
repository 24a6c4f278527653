import type { Command } from 'commander'
import { exitCodes } from '../exit-codes.ts'
import type { CommandContext } from './context.ts'

/** Adds the command `demo [--folder F] [--hold]`. */
export function addDemo(program: Command, c: CommandContext): void {
  program
    .command('demo')
    .description('run an emulated service with faults and a mirror for a minute, and compare them')
    .option('--folder <folder>', 'folder for the database and logs (default: a new folder below data/)')
    .option('--hold', 'keep everything running at the end, until Ctrl+C')
    .action(async (options: { folder?: string; hold?: boolean }) => {
      const agrees = await c.parts.demo({ folder: options.folder, hold: options.hold === true })
      if (!agrees) c.exitCode = exitCodes.failed
    })
}
