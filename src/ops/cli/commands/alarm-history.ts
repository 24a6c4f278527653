import type { Command } from 'commander'
import { listEpisodes } from '../../../store/operators/alarm-history.ts'
import { acknowledge } from '../../actions/alarms.ts'
import { parseCount, parseMoment } from '../../actions/arguments.ts'
import { ago, pluralize } from '../../output/text.ts'
import { actionContextOf, type CommandContext, printJson, printTable, withStore } from './context.ts'

const MAX_LISTED = 10_000

interface AboutOptions {
  readonly account?: string
  readonly destination?: string
}

interface HistoryOptions extends AboutOptions {
  readonly name?: string
  readonly since?: string
  readonly until?: string
  readonly limit: string
  readonly json?: boolean
}

/** `alarm history` */
export function addAlarmHistory(alarm: Command, c: CommandContext): void {
  alarm
    .command('history')
    .description('list when alarms fired and ended, the newest first')
    .option('--name <alarm>', 'only of this alarm')
    .option('--account <name>', 'only about this account')
    .option('--destination <name>', 'only about this destination')
    .option('--since <time>', 'only what fired since: a date, a date-time, or how long ago (2h, 7d)')
    .option('--until <time>', 'only what fired before')
    .option('--limit <n>', 'how many at most', '50')
    .option('--json', 'as JSON, for programs')
    .action((options: HistoryOptions) => history(c, options))
}

/** `alarm acknowledge NAME` */
export function addAcknowledge(alarm: Command, c: CommandContext): void {
  alarm
    .command('acknowledge')
    .description('take note of an alarm that fires: it says by whom and when, and goes on to fire')
    .argument('<name>', 'of the alarm, as `alarm list` shows it')
    .option('--account <name>', 'only about this account')
    .option('--destination <name>', 'only about this destination')
    .action((name: string, options: AboutOptions) => takeNote(c, name, options))
}

async function history(c: CommandContext, options: HistoryOptions): Promise<void> {
  const problems: string[] = []
  const now = c.clock.now()
  const { name, account, destination } = options
  const filter = {
    ...{ name, account, destination },
    since: parseMoment(options.since, '--since', now, problems),
    until: parseMoment(options.until, '--until', now, problems),
  }
  const limit = parseCount(options.limit, '--limit', MAX_LISTED, problems)
  await withStore(c, { accounts: 'optional', prepare: false, problems }, async ({ db }) => {
    const episodes = await listEpisodes(db.read, filter, limit)
    if (options.json) return printJson(c, episodes)
    const headings = [
      ...['alarm', 'severity', 'account', 'destination', 'fired ago', 'over ago', 'noted by'],
      { heading: 'what', fit: 'below' } as const,
    ]
    const rows = episodes.map((each) => [
      ...[each.name, each.severity, each.account, each.destination, ago(each.fired_at, now), ago(each.resolved_at, now)],
      ...[each.acknowledged_by, each.text],
    ])
    printTable(c, { title: 'When alarms fired, the newest first', headings, rows }, 'no alarm fired')
  })
}

async function takeNote(c: CommandContext, name: string, { account, destination }: AboutOptions): Promise<void> {
  await withStore(c, { accounts: 'optional', prepare: false, problems: [] }, async ({ db }) => {
    const { acknowledged, already } = await acknowledge(actionContextOf(c, db), { name, account, destination })
    const before = already === 0 ? '' : `, of ${already} somebody had before`
    c.host.stdout.write(`note taken of ${pluralize(acknowledged, 'alarm')}${before}; what fires goes on to fire\n`)
  })
}
