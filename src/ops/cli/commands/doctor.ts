import { type Command, Option } from 'commander'
import { UsageError } from '../../../base/errors.ts'
import type { Config } from '../../../config/config.ts'
import { destinationNamed } from '../../actions/names.ts'
import { diagnose } from '../../doctor/doctor.ts'
import { type Finding, markOf } from '../../doctor/finding.ts'
import { showMend } from '../../operations/index.ts'
import { pluralize, wrapped } from '../../output/text.ts'
import { exitCodes } from '../exit-codes.ts'
import { type ConformanceFlags, runConformance } from './conformance.ts'
import { type CommandContext, printJson, sendingSettingsOf, silentLog, widthOf } from './context.ts'

/** `doctor [--destination NAME] [--json]`, `doctor --conformance [--account A] [--submission ID] [--json]` */
export function addDoctor(program: Command, c: CommandContext): void {
  program
    .command('doctor')
    .description(
      'look whether everything works: database, accounts, the way of the deliveries, destinations; say what is wrong and what to do. ✓ is right, ' +
        '✗ is wrong, – was not checked; exit code 1 when anything is wrong, or should have been checked and could not be',
    )
    .option('--destination <name>', 'only this destination: one harmless try, and what waits for it')
    .addOption(
      new Option(
        '--conformance',
        'compare the service with its specification instead, row by row, by reading alone (GET, besides the token)',
      ).conflicts('destination'),
    )
    .option('--account <name>', 'with --conformance: only this account')
    .option('--submission <id>', 'with --conformance: look at this submission instead of some that the mirror knows')
    .option('--json', 'as JSON, for programs')
    .action(async (options: ConformanceFlags & { conformance?: boolean; destination?: string }) => {
      if (options.conformance) return await runConformance(c, options)
      const { destination } = options
      const misplaced = (['account', 'submission'] as const).filter((name) => options[name] !== undefined)
      if (misplaced.length > 0) throw new UsageError(misplaced.map((name) => `--${name} goes with --conformance only`))
      const onlyOf = (config: Config) => (destination === undefined ? null : destinationNamed(config, destination))
      const accounts = destination === undefined ? 'needed' : 'optional'
      const config = await sendingSettingsOf(c, { accounts, problems: [], check: onlyOf })
      const only = onlyOf(config)
      const found: Finding[] = []
      if (!options.json) c.host.stdout.write('Checks\n')
      for await (const finding of diagnose({ config, clock: c.clock, log: silentLog(), host: c.host, showMend }, only)) {
        found.push(finding)
        const { about, text, fails } = finding
        if (fails) c.exitCode = exitCodes.failed
        if (!options.json) c.host.stdout.write(wrapped(`${markOf(finding)} ${about}: ${text}`, widthOf(c), '', '  '))
      }
      if (options.json) return printJson(c, found)
      const count = (wanted: boolean | null) => found.filter(({ ok }) => ok === wanted).length
      c.host.stdout.write(`\n${pluralize(found.length, 'check')}, ${count(false)} failed, ${count(null)} not checked\n`)
    })
}
