import type { Command } from 'commander'
import type { Config } from '../../../config/config.ts'
import { auditedProbe, destinationNamed } from '../../actions/destinations.ts'
import { probeDestination } from '../../actions/probe.ts'
import { operations } from '../../operations/destination.ts'
import { subjects } from '../../operations/index.ts'
import { exitCodes } from '../exit-codes.ts'
import { addOperations } from '../from-operation.ts'
import { actionContextOf, auditedIfPossible, type CommandContext, sendingSettingsOf, silentLog } from './context.ts'

/** `destination test NAME`, beside the operations on destinations. */
export function addDestination(program: Command, c: CommandContext): void {
  addOperations(program, c, subjects.destination.about, operations)
    .command('test')
    .description('make one harmless try, and tell what came of it')
    .argument('<name>', 'of the destination')
    .action((name: string) => test(c, name))
}

async function test(c: CommandContext, name: string): Promise<void> {
  const check = (settings: Config) => destinationNamed(settings, name)
  const config = await sendingSettingsOf(c, { accounts: 'optional', problems: [], check })
  const destination = destinationNamed(config, name)
  const { ok, text } = await auditedIfPossible(
    c,
    () => probeDestination({ ...c, log: silentLog() }, config, destination),
    (db, probe) => auditedProbe(actionContextOf(c, db), name, probe),
  )
  c.host.stdout.write(`destination ${name}: ${text}\n`)
  if (!ok) c.exitCode = exitCodes.failed
}
