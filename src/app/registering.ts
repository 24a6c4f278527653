import type { Config } from '../config/config.ts'
import type { Db } from '../store/engine/db.ts'
import { ensureDestinations } from '../store/outbox/destinations.ts'
import { ensureAccounts } from '../store/reads/accounts.ts'

/**
 * Records every account and destination in the database. A new destination gets all changes that are made from now on.
 */
export async function registerNames(db: Db, config: Config): Promise<void> {
  await ensureAccounts(
    db,
    config.accounts.map((account) => account.name),
  )
  await ensureDestinations(db, config.destinations)
}
