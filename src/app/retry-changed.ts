import { messageOf } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import type { Config } from '../config/config.ts'
import { hasFingerprint } from '../config/same-settings.ts'
import type { Db } from '../store/engine/db.ts'
import { listDestinations } from '../store/outbox/destinations.ts'
import { probeNow } from '../store/outbox/suspensions.ts'
import { listAccounts, retryAccountNow } from '../store/reads/accounts.ts'
import { accessOf } from '../upstream/account-client.ts'

/**
 * Schedules an immediate retry of each suspended destination and inactive account, if its settings changed since the
 * other side rejected them. Errors are only logged.
 */
export async function retryChanged(db: Db, { accounts, destinations }: Config, log: Log): Promise<void> {
  const changed = async (settings: unknown, refusedWith: string | null) =>
    settings !== undefined && refusedWith !== null && !(await hasFingerprint(settings, refusedWith))
  try {
    for (const { account, state, refused_with: refusedWith } of await listAccounts(db.read)) {
      const settings = accounts.find(({ name }) => name === account)
      if (state !== 'active' && settings && (await changed(accessOf(settings), refusedWith))) await retryAccountNow(db, account)
    }
    for (const { destination, state, refused_with: refusedWith } of await listDestinations(db.read)) {
      const settings = destinations.find(({ name }) => name === destination)
      if (state === 'suspended' && (await changed(settings, refusedWith))) await probeNow(db, destination)
    }
  } catch (error) {
    log.warn(
      { err: error },
      `accounts and destinations with new settings could not be retried now (${messageOf(error)}); their scheduled retries stay`,
    )
  }
}
