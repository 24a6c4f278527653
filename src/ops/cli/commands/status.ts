import { type Command, Option } from 'commander'
import { coverageText, readCoverage } from '../../status/coverage.ts'
import { driftText, interfaceDrift } from '../../status/interface-drift.ts'
import { readStatus } from '../../status/status.ts'
import { statusText } from '../status-text.ts'
import { type CommandContext, printJson, widthOf, withStore } from './context.ts'

/** `status [--coverage|--drift] [--json]` */
export function addStatus(program: Command, c: CommandContext): void {
  program
    .command('status')
    .description('say whether the mirror is complete and fresh, what needs a person, and how it is in numbers')
    .option('--coverage', 'what is mirrored and how fresh, read by read, and what the service gives no way to find')
    .addOption(
      new Option(
        '--drift',
        'fields, values and types that the specification does not name, and required fields that are missing',
      ).conflicts('coverage'),
    )
    .option('--json', 'as JSON, for programs')
    .action(async (options: { coverage?: boolean; drift?: boolean; json?: boolean }) => {
      await withStore(c, { accounts: 'optional', prepare: false, problems: [] }, async ({ config, db }) => {
        if (options.coverage) {
          const coverage = await readCoverage(db, config)
          if (options.json) printJson(c, coverage)
          else c.host.stdout.write(coverageText(coverage, c.clock.now(), widthOf(c)))
          return
        }
        if (options.drift) {
          const drift = await interfaceDrift(db.read)
          if (options.json) printJson(c, drift)
          else c.host.stdout.write(driftText(drift, c.clock.now(), widthOf(c)))
          return
        }
        const status = await readStatus(db, c.version, config)
        if (options.json) printJson(c, status)
        else c.host.stdout.write(statusText(status, c.clock.now(), widthOf(c)))
      })
    })
}
