import { messageOf } from '../../base/errors.ts'
import type { DestinationConfig } from '../../config/config.ts'
import { extraCaProblem } from '../../config/extra-ca.ts'
import { pluralize } from '../output/text.ts'
import { examineAccount } from './account.ts'
import { examineDatabase, openForDoctor } from './database.ts'
import { examineDestination } from './destination.ts'
import { bad, type DoctorParts, type Finding, good } from './finding.ts'
import { examineReceiver } from './receiver.ts'

/** Opens the store beside whatever works on it, if it can be opened, and examines everything, or only one destination. */
export async function* diagnose(p: Omit<DoctorParts, 'db'>, only: DestinationConfig | null): AsyncGenerator<Finding> {
  const opened = await openForDoctor(p.config, p)
  const db = 'about' in opened ? null : opened
  try {
    if ('about' in opened) yield opened
    if (only === null) yield* examine({ ...p, db })
    else yield* surviving(p, `destination ${only.name}`, examineDestination({ ...p, db }, only))
  } finally {
    await db?.close()
  }
}

/**
 * Looks at everything: the settings (which were read already, or it would not run), the database, each account, the way of the
 * deliveries, each destination. What cannot be looked at, because the database or the service is away, is a finding like any other, and
 * the rest is looked at all the same.
 */
async function* examine(p: DoctorParts): AsyncGenerator<Finding> {
  const { accounts, destinations } = p.config
  yield good('settings', `${pluralize(accounts.length, 'account')} and ${pluralize(destinations.length, 'destination')}`)
  const fault = extraCaProblem(p.config)
  if (fault !== null) yield bad('settings', fault)
  const { db } = p
  if (db !== null) yield* surviving(p, 'database', examineDatabase(p.config, db))
  for (const account of accounts) yield* surviving(p, `account ${account.name}`, examineAccount(p, account))
  yield* surviving(p, 'receiver', examineReceiver(p))
  for (const destination of destinations) {
    yield* surviving(p, `destination ${destination.name}`, examineDestination(p, destination))
  }
}

/** The findings, and one more when looking failed. */
async function* surviving({ host }: Pick<DoctorParts, 'host'>, about: string, findings: AsyncGenerator<Finding>): AsyncGenerator<Finding> {
  try {
    yield* findings
  } catch (error) {
    host.signal.throwIfAborted()
    yield bad(about, `it could not be looked at: ${messageOf(error)}`)
  }
}
