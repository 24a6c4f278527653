import type { Command } from 'commander'
import { UsageError } from '../../errors.ts'
import type { Db } from '../../store/db.ts'
import { listDestinations, setDestinationState } from '../../store/destinations.ts'
import { refuseBrokenDestinations } from '../destination-problems.ts'
import { exitCodes } from '../exit-codes.ts'
import { probeDestination } from '../probe.ts'
import { readPushStatus } from '../push-status.ts'
import { table } from '../table.ts'
import { ago, printableLine, shortTime } from '../text.ts'
import { type CommandContext, destinationOf, printJson, settingsOf, silentLog, withStore } from './context.ts'
import { addMap } from './destination-map.ts'

/** `destination list|pause|resume|test|map` */
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
    .action((name: string, options: { reason?: string }) => pause(c, name, options.reason ?? 'paused by an operator'))
  destination
    .command('resume')
    .description('let a paused, parked or disabled destination go on, and end its rest')
    .argument('<name>', 'of the destination')
    .action((name: string) => resume(c, name))
  destination
    .command('test')
    .description('make one harmless try, and tell what came of it')
    .argument('<name>', 'of the destination')
    .action((name: string) => test(c, name))
  addMap(destination, c)
}

async function list(c: CommandContext, json: boolean): Promise<void> {
  await withStore(c, { accounts: 'optional', prepare: false, problems: [] }, async ({ config, db }) => {
    const destinations = await readPushStatus(db.read, config.destinations)
    if (json) return printJson(c, destinations)
    const now = c.clock.now()
    c.host.stdout.write(
      table(
        ['destination', 'kind', 'state', 'since', 'queued', 'oldest', 'dead', 'unknown', 'tries again', 'reason'],
        destinations.map((d) => [
          ...[d.destination, d.kind, d.state, shortTime(d.since), d.queued, ago(d.oldest_queued_at, now), d.dead, d.unknown],
          ...[shortTime(d.retry_at), d.reason],
        ]),
      ),
    )
  })
}

async function pause(c: CommandContext, name: string, reason: string): Promise<void> {
  await withStore(c, { accounts: 'optional', prepare: false, problems: [] }, async ({ db }) => {
    await knownDestination(db, name)
    await setDestinationState(db, name, 'paused', printableLine(reason))
    c.host.stdout.write(`destination ${name} is paused: its changes are queued, and nothing is sent until \`destination resume ${name}\`\n`)
  })
}

async function resume(c: CommandContext, name: string): Promise<void> {
  await withStore(c, { accounts: 'optional', prepare: false, problems: [] }, async ({ db }) => {
    const before = await knownDestination(db, name)
    await setDestinationState(db, name, 'active', null)
    const was = before.state === 'active' ? '' : `; it was ${before.state}${before.reason ? ` (${printableLine(before.reason)})` : ''}`
    c.host.stdout.write(`destination ${name} is active${was}\n`)
  })
}

async function test(c: CommandContext, name: string): Promise<void> {
  const config = settingsOf(c, { accounts: 'optional', problems: [] })
  const destination = destinationOf(config, name)
  await refuseBrokenDestinations(config)
  const { ok, text } = await probeDestination({ ...c, log: silentLog() }, config, destination)
  c.host.stdout.write(`destination ${name}: ${text}\n`)
  if (!ok) c.exitCode = exitCodes.failed
}

async function knownDestination(db: Db, name: string) {
  const all = await listDestinations(db.read)
  const found = all.find((each) => each.destination === name)
  if (found) return found
  const names = all.map((each) => each.destination).join(', ')
  throw new UsageError([
    `there is no destination ${JSON.stringify(name)}; there is ${names || 'none yet'}. One of the settings is known after \`serve\` has started with it`,
  ])
}
