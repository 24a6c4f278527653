import { meantOrListed } from '../../base/near-names.ts'
import type { Config } from '../../config/config.ts'
import type { Query } from '../../store/engine/db.ts'
import { listDestinations } from '../../store/outbox/destinations.ts'
import { listMappings } from '../../store/outbox/push-map.ts'
import { NotFoundError } from '../output/refusals.ts'
import { knownAccounts } from '../status/accounts.ts'

/** The names of a filter; undefined does not filter. */
interface Names {
  readonly account?: string | undefined
  readonly destination?: string | undefined
}

/**
 * Refuses names that neither the settings nor the database know: an empty list would look like a correct answer. A name that was removed
 * from the settings is known as long as the database has rows of it.
 * @throws NotFoundError with a line for each, with the names that exist.
 */
export async function refuseUnknownNames(
  q: Query,
  { accounts, destinations }: Pick<Config, 'accounts' | 'destinations'>,
  { account, destination }: Names,
): Promise<void> {
  const problems: string[] = []
  if (destination !== undefined) {
    const known = [...destinations.map(({ name }) => name), ...(await listDestinations(q)).map((row) => row.destination)]
    const isMapped = async () => (await listMappings(q, { destination }, 1)).length > 0
    if (!known.includes(destination) && !(await isMapped())) problems.push(problemOf('destination', destination, known))
  }
  if (account !== undefined) {
    const known = (await knownAccounts(q, accounts)).map((each) => each.account)
    if (!known.includes(account)) problems.push(problemOf('account', account, known))
  }
  if (problems.length > 0) throw new NotFoundError(problems)
}

function problemOf(kind: string, name: string, known: readonly string[]): string {
  return `there is no ${kind} ${JSON.stringify(name)}; ${meantOrListed(name, [...new Set(known)].sort(), 'none yet')}`
}
