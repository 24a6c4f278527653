import { messageOf } from '../../base/errors.ts'
import type { Config, DestinationConfig } from '../../config/config.ts'
import type { Db } from '../../store/engine/db.ts'
import { listSettings } from '../../store/upkeep/process-settings.ts'
import { clocksDisagree } from '../alarms/watch-clocks.ts'
import { compareClocks } from '../clocks/clock-watch.ts'
import { pluralize } from '../output/text.ts'
import { settingFingerprints } from '../status/settings.ts'
import { checkAccount } from './account.ts'
import { checkDatabase, openForDoctor } from './database.ts'
import { checkDestination } from './destination.ts'
import { checkDocuments } from './documents.ts'
import { bad, type DoctorParts, type Finding, good, NO_DATABASE, unchecked } from './finding.ts'
import { checkReceiver } from './receiver.ts'

/** Checks the whole installation, or one destination. `serve` may run at the same time. */
export async function* diagnose(given: Omit<DoctorParts, 'db' | 'serviceClocks'>, only: DestinationConfig | null): AsyncGenerator<Finding> {
  const opened = await openForDoctor(given.config, given)
  const db = 'about' in opened ? null : opened
  const p: DoctorParts = { ...given, db, serviceClocks: new Map() }
  try {
    if ('about' in opened) yield opened
    if (only === null) yield* checkAll(p)
    else yield* withFailure(p, `destination ${only.name}`, checkDestination(p, only))
  } finally {
    await db?.close()
  }
}

/**
 * Checks settings, database, documents, accounts, clocks, receiver and destinations.
 * If the database or the service is down, the affected checks report that, and the other checks continue.
 */
async function* checkAll(p: DoctorParts): AsyncGenerator<Finding> {
  const { accounts, destinations } = p.config
  yield good('settings', `${pluralize(accounts.length, 'account')} and ${pluralize(destinations.length, 'destination')}`)
  for (const warning of p.config.warnings) yield bad('settings', warning)
  for (const each of p.config.overridden) yield good('settings', each)
  const { db } = p
  if (db === null) yield unchecked('retention', NO_DATABASE)
  else {
    yield* withFailure(p, 'settings', checkRunningSettings(p.config, db))
    yield* withFailure(p, 'database', checkDatabase(p.config, db))
  }
  yield* withFailure(p, 'documents', checkDocuments(p))
  for (const account of accounts) yield* withFailure(p, `account ${account.name}`, checkAccount(p, account))
  yield* withFailure(p, 'clocks', checkClocks(p))
  yield* withFailure(p, 'receiver', checkReceiver(p))
  for (const destination of destinations) {
    yield* withFailure(p, `destination ${destination.name}`, checkDestination(p, destination))
  }
}

async function* checkRunningSettings(config: Config, db: Db): AsyncGenerator<Finding> {
  for (const { process_id, role, settings } of await listSettings(db.read)) {
    const own = settingFingerprints(config, process_id)
    const names = [...new Set([...Object.keys(own), ...Object.keys(settings)])].filter((name) => own[name] !== settings[name])
    const which = role === 'all' ? '`serve`' : `\`serve --role ${role}\``
    if (names.length === 0) yield good('settings', `${which} runs with the same settings as this command`)
    else
      yield bad(
        'settings',
        `${which} runs with other settings than this command: ${differing(names)}. Reload or restart ${which}, or run this command with the environment and files of ${which}`,
      )
  }
}

/** Compares this machine's clock with the database server, the contacted services, and recorded times. */
async function* checkClocks({ config, db, serviceClocks }: DoctorParts): AsyncGenerator<Finding> {
  const found = db && clocksDisagree(await compareClocks(db.read, serviceClocks), config)
  if (found === null) yield unchecked('clocks', NO_DATABASE)
  else if (found.level === 'on') yield bad('clocks', found.text)
  else yield good('clocks', "this machine's clock agrees with the database's clock and the newest stored time")
}

const MOST_NAMED = 10

function differing(names: readonly string[]): string {
  const more = names.length - MOST_NAMED
  return `${names.slice(0, MOST_NAMED).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

/** Passes on the findings of a check. If the check itself fails, adds a finding with the error. */
async function* withFailure(
  { host }: Pick<DoctorParts, 'host'>,
  about: string,
  findings: AsyncGenerator<Finding>,
): AsyncGenerator<Finding> {
  try {
    yield* findings
  } catch (error) {
    host.signal.throwIfAborted()
    yield unchecked(about, messageOf(error))
  }
}
