import type { Command } from 'commander'
import { refuseBrokenDestinations } from '../destination-problems.ts'
import { examine, examineDestination, type Finding } from '../doctor.ts'
import { exitCodes } from '../exit-codes.ts'
import { type CommandContext, destinationOf, printJson, withStore } from './context.ts'

/** `doctor [--destination NAME] [--json]` */
export function addDoctor(program: Command, c: CommandContext): void {
  program
    .command('doctor')
    .description('look whether everything works that is set: database, accounts, destinations; say what is wrong and what to do')
    .option('--destination <name>', 'only this destination: one harmless try, and what waits for it')
    .option('--json', 'as JSON, for programs')
    .action(async (options: { destination?: string; json?: boolean }) => {
      const accounts = options.destination === undefined ? 'needed' : 'optional'
      await withStore(c, { accounts, prepare: false, problems: [] }, async ({ config, db, log }) => {
        const parts = { config, db, log, clock: c.clock, host: c.host }
        const destination = options.destination === undefined ? null : destinationOf(config, options.destination)
        await refuseBrokenDestinations(config)
        const findings: Finding[] = []
        for await (const finding of destination ? examineDestination(parts, destination) : examine(parts)) {
          findings.push(finding)
          if (!options.json) c.host.stdout.write(`${finding.ok ? 'ok   ' : 'wrong'}  ${finding.about}: ${finding.text}\n`)
        }
        if (options.json) printJson(c, findings)
        if (findings.some(({ ok }) => !ok)) c.exitCode = exitCodes.failed
      })
    })
}
