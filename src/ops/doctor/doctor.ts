import { messageOf } from '../../base/errors.ts'
import type { DestinationConfig } from '../../config/config.ts'
import { pluralize } from '../output/text.ts'
import { checkAccount } from './account.ts'
import { checkClocks } from './clocks.ts'
import { checkDatabase, openForDoctor } from './database.ts'
import { checkDestination } from './destination.ts'
import { checkDocuments } from './documents.ts'
import { bad, type DoctorParts, type Finding, good, NO_DATABASE, unchecked } from './finding.ts'
import { checkReceiver } from './receiver.ts'

/** Opens the database beside a running `serve`, and checks everything, or one destination. */
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
 * Checks everything: settings (which were valid, or this would not run), database, documents, accounts, receiver, destinations. What cannot be checked
 * because the database or the service is down is a finding of its own, and the rest is checked all the same.
 */
async function* checkAll(p: DoctorParts): AsyncGenerator<Finding> {
  const { accounts, destinations } = p.config
  yield good('settings', `${pluralize(accounts.length, 'account')} and ${pluralize(destinations.length, 'destination')}`)
  for (const warning of p.config.warnings) yield bad('settings', warning)
  for (const each of p.config.overridden) yield good('settings', each)
  const { db } = p
  if (db === null) yield unchecked('retention', NO_DATABASE)
  else yield* withFailure(p, 'database', checkDatabase(p.config, db))
  yield* withFailure(p, 'documents', checkDocuments(p))
  for (const account of accounts) yield* withFailure(p, `account ${account.name}`, checkAccount(p, account))
  yield* withFailure(p, 'clocks', checkClocks(p))
  yield* withFailure(p, 'receiver', checkReceiver(p))
  for (const destination of destinations) {
    yield* withFailure(p, `destination ${destination.name}`, checkDestination(p, destination))
  }
}

/** The findings, and one more when the check itself fails. */
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
