import type { Command } from 'commander'
import { timeFromMs } from '../../../model/time.ts'
import { makeDemoFolder } from '../../demo/folder.ts'
import { exitCodes } from '../exit-codes.ts'
import { type CommandContext, silentLog } from './context.ts'

/** `demo [--folder F] [--hold]` */
export function addDemo(program: Command, c: CommandContext): void {
  program
    .command('demo')
    .description('show the whole in half a minute: an emulated service with faults, and a mirror that agrees with it in the end')
    .option('--folder <folder>', 'where the database is left (default: a new folder below data/)')
    .option('--hold', 'keep everything running after the end, to look around, until Ctrl+C')
    .action(async (options: { folder?: string; hold?: boolean }) => {
      // Loaded only here: no other command needs it.
      const { runDemo } = await import('../../demo/demo.ts')
      const stamp = timeFromMs(c.clock.now()).slice(0, 19).replace(/\D/g, '')
      const folder = makeDemoFolder(options.folder, stamp)
      const agrees = await runDemo({ host: c.host, clock: c.clock, log: silentLog(), folder, hold: options.hold === true })
      if (!agrees) c.exitCode = exitCodes.failed
    })
}
