import type { Command } from 'commander'
import { confirmRetention, retentionState, runRetention } from '../../actions/retention.ts'
import { exitCodes } from '../exit-codes.ts'
import { actionContextOf, type CommandContext, printJson, silentLog, withStore } from './context.ts'

/** `retention run [--confirm] [--json]` */
export function addRetention(program: Command, c: CommandContext): void {
  const retention = program.command('retention').description('look at what is removed for its age, and let a turn that waits take place')
  retention
    .command('run')
    .description('say what the next turn removes and why it waits; with --confirm run it now')
    .option('--confirm', 'remove it, whatever the turn waits for')
    .option('--json', 'as JSON, for programs')
    .action((options: { confirm?: boolean; json?: boolean }) => run(c, options.confirm ?? false, options.json ?? false))
}

async function run(c: CommandContext, confirm: boolean, json: boolean): Promise<void> {
  await withStore(c, { accounts: 'optional', prepare: false, problems: [] }, async ({ db, config }) => {
    const a = actionContextOf(c, db)
    let outcome: string | null = null
    if (confirm) {
      await confirmRetention(a, config)
      outcome = await runRetention(a, config, silentLog())
      if (outcome === 'held') c.exitCode = exitCodes.busy
      c.host.signal.throwIfAborted()
    }
    const state = await retentionState(a, config)
    if (json) return printJson(c, { ...state, outcome })
    if (outcome === 'held') c.host.stdout.write('another process runs retention now, or did a moment ago; try again in some minutes\n')
    else c.host.stdout.write(`${confirm ? (state.last ?? state.text) : state.text}\n`)
  })
}
