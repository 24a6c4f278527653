import type { Command } from 'commander'
import type { Config } from '../../../config/config.ts'
import type { DestinationRow } from '../../../store/outbox/destinations.ts'
import { auditedProbe, destinationNamed, pauseDestination, resumeDestination } from '../../actions/destinations.ts'
import { probeDestination } from '../../actions/probe.ts'
import { ago, printableLine, until } from '../../output/text.ts'
import { readPushStatus } from '../../status/destinations.ts'
import { exitCodes } from '../exit-codes.ts'
import {
  actionContextOf,
  auditedIfPossible,
  type CommandContext,
  printJson,
  printTable,
  sendingSettingsOf,
  silentLog,
  withStore,
} from './context.ts'
import { addMap } from './destination-map.ts'
import { addResend } from './destination-resend.ts'

/** `destination list|pause|resume|test|resend|map` */
export function addDestination(program: Command, c: CommandContext): void {
  const destination = program.command('destination').description('look at destinations, stop them, let them go on, map submissions to them')
  destination
    .command('list')
    .description('list the destinations, their state, and what waits for them')
    .option('--json', 'as JSON, for programs')
    .action((options: { json?: boolean }) => list(c, options.json ?? false))
  destination
    .command('pause')
    .description('send nothing to a destination any more; its changes are queued all the same')
    .argument('<name>', 'of the destination')
    .option('--reason <text>', 'why, for whoever looks at the list')
    .action((name: string, options: { reason?: string }) => pause(c, name, options.reason ?? null))
  destination
    .command('resume')
    .description('let a paused, parked or disabled destination go on, end its rest, and try now what failed before')
    .argument('<name>', 'of the destination')
    .action((name: string) => resume(c, name))
  destination
    .command('test')
    .description('make one harmless try, and tell what came of it')
    .argument('<name>', 'of the destination')
    .action((name: string) => test(c, name))
  addResend(destination, c)
  addMap(destination, c)
}

async function list(c: CommandContext, json: boolean): Promise<void> {
  await withStore(c, { accounts: 'optional', prepare: false, problems: [] }, async ({ config, db }) => {
    const destinations = await readPushStatus(db.read, config.destinations)
    if (json) return printJson(c, destinations)
    const now = c.clock.now()
    const headings = [
      ...['destination', 'kind', 'state', 'for', 'queued', 'oldest', 'dead', 'unknown', 'next try'],
      { heading: 'reason', fit: 'below' } as const,
    ]
    const rows = destinations.map((d) => [
      ...[d.destination, d.kind, d.state, ago(d.since, now), d.queued, ago(d.oldest_queued_at, now), d.dead, d.unknown],
      ...[until(d.retry_at, now), d.reason],
    ])
    printTable(c, { title: 'Destinations', headings, rows }, 'There is no destination.')
  })
}

async function pause(c: CommandContext, name: string, reason: string | null): Promise<void> {
  await withStore(c, { accounts: 'optional', prepare: false, problems: [] }, async ({ db }) => {
    const before = await pauseDestination(actionContextOf(c, db), name, reason)
    const already = before.state === 'paused' && reason === null ? ` already${whyOf(before)}` : ''
    c.host.stdout.write(
      `destination ${name} is paused${already}: its changes are queued, and nothing is sent until \`destination resume ${name}\`\n`,
    )
  })
}

async function resume(c: CommandContext, name: string): Promise<void> {
  await withStore(c, { accounts: 'optional', prepare: false, problems: [] }, async ({ db }) => {
    const before = await resumeDestination(actionContextOf(c, db), name)
    const was = before.state === 'active' ? '' : `; it was ${before.state}${whyOf(before)}`
    c.host.stdout.write(`destination ${name} is active${was}\n`)
  })
}

function whyOf({ reason }: Pick<DestinationRow, 'reason'>): string {
  return reason ? ` (${printableLine(reason)})` : ''
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
