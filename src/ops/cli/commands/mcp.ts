import type { Command } from 'commander'
import { createLog } from '../../../base/log.ts'
import { secretValues } from '../../../config/secret-values.ts'
import { unattended } from '../../operations/operation.ts'
import { actionContextOf, type CommandContext, withStore } from './context.ts'

export function addMcp(program: Command, c: CommandContext): void {
  program
    .command('mcp')
    .description('serve an assistant over standard input and output (Model Context Protocol), read-only')
    .action(() => run(c))
}

async function run(c: CommandContext): Promise<void> {
  const { host, version } = c
  await withStore(c, { accounts: 'optional', prepare: false, looksOnly: true, problems: [] }, async ({ config, db }) => {
    const { answerOverStdio } = await import('../../mcp/stdio.ts')
    // Log to standard error, because standard output carries the protocol.
    const log = createLog({ level: 'warn', pretty: false, secrets: secretValues(config), destination: host.stderr })
    const parts = { ...unattended, ...actionContextOf(c, db), config: () => config, log, version, mayAct: false }
    await answerOverStdio(parts, host.stdin, host.stdout)
  })
}
