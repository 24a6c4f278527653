import type { Command } from 'commander'
import { type ListedAlarm, listAlarms, listNotices } from '../../../store/operators/alarms.ts'
import { auditedOperatorTests } from '../../actions/alarms.ts'
import { testOperators } from '../../alarms/operator-test.ts'
import type { Cell } from '../../output/table.ts'
import { ago, printableLine, wrapped } from '../../output/text.ts'
import { exitCodes } from '../exit-codes.ts'
import { addAcknowledge, addAlarmHistory } from './alarm-history.ts'
import {
  actionContextOf,
  auditedIfPossible,
  type CommandContext,
  printJson,
  printTable,
  settingsOf,
  widthOf,
  withStore,
} from './context.ts'

/** `alarm list|history|acknowledge|test` */
export function addAlarm(program: Command, c: CommandContext): void {
  const alarm = program.command('alarm').description('look at alarms, and try whether operators can be told')
  alarm
    .command('list')
    .description('list what fires, or with --all also what is over')
    .option('--all', 'also what is over')
    .option('--json', 'as JSON, for programs')
    .action((options: { all?: boolean; json?: boolean }) => list(c, options.all ?? false, options.json ?? false))
  addAlarmHistory(alarm, c)
  addAcknowledge(alarm, c)
  alarm
    .command('test')
    .description('send a test message to operators, and tell what came of it')
    .argument('[name]', 'of the operator; all of them when left out')
    .option('--json', 'as JSON, for programs')
    .action((name: string | undefined, options: { json?: boolean }) => test(c, name, options.json ?? false))
}

async function list(c: CommandContext, all: boolean, json: boolean): Promise<void> {
  await withStore(c, { accounts: 'optional', prepare: false, problems: [] }, async ({ db }) => {
    const rows = (await listAlarms(db.read)).filter(({ state }) => state === 'firing' || (all && state === 'resolved'))
    const failing = (await listNotices(db.read)).filter(({ error }) => error !== null)
    if (json) return printJson(c, rows)
    const now = c.clock.now()
    const title = all ? 'Alarms that fire or are over' : 'Alarms that fire'
    printTable(c, { title, headings: HEADINGS, rows: rows.map((row) => rowOf(row, now)) }, 'nothing fires')
    for (const { operator, name, error } of failing) {
      const warning = `warning: operator ${operator} could not be told of alarm ${name}: ${printableLine(error ?? '', 300)}`
      c.host.stdout.write(wrapped(warning, widthOf(c)))
    }
  })
}

const HEADINGS = [
  ...['alarm', 'severity', 'account', 'destination', 'state', 'for', 'over for', 'told ago', 'noted by'],
  { heading: 'what', fit: 'below' } as const,
]

function rowOf(row: ListedAlarm, now: number): readonly Cell[] {
  const isFiring = row.state === 'firing'
  return [
    ...[row.name, row.severity, row.account, row.destination, row.state],
    ...[isFiring ? ago(row.since, now) : null, isFiring ? null : ago(row.resolved_at, now), ago(row.notified_at, now), row.acknowledged_by],
    isFiring ? row.text : null,
  ]
}

async function test(c: CommandContext, name: string | undefined, json: boolean): Promise<void> {
  const config = settingsOf(c, { accounts: 'optional', problems: [] })
  const tests = await auditedIfPossible(
    c,
    () => testOperators(config, name ?? null, c.clock, c.host.signal),
    (db, send) => auditedOperatorTests(actionContextOf(c, db), config, name ?? null, send),
  )
  if (json) printJson(c, tests)
  else for (const { operator, text } of tests) c.host.stdout.write(`operator ${operator}: ${text}\n`)
  if (tests.some(({ ok }) => !ok)) c.exitCode = exitCodes.failed
}
