import { meantOrListed } from '../../base/near-names.ts'
import type { AccountConfig, Config, DestinationConfig } from '../../config/config.ts'
import { entities, entityNamed } from '../../model/entities.ts'
import type { Entity } from '../../model/entity.ts'
import type { Query } from '../../store/engine/db.ts'
import { knownSubmissions } from '../../store/mirror/submissions.ts'
import { type DestinationRow, listDestinations } from '../../store/outbox/destinations.ts'
import { listMappings } from '../../store/outbox/push-map.ts'
import { ConflictError, MismatchError, NotFoundError } from '../output/refusals.ts'
import { printableLine } from '../output/text.ts'
import { knownAccounts } from '../status/accounts.ts'

/** What is named must be there: a wrong name is refused with those that exist. */

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
    if (!known.includes(destination) && !(await isMapped())) problems.push(unknownName('destination', destination, known))
  }
  if (account !== undefined) {
    const known = (await knownAccounts(q, accounts)).map((each) => each.account)
    if (!known.includes(account)) problems.push(unknownName('account', account, known))
  }
  if (problems.length > 0) throw new NotFoundError(problems)
}

/** The problem of a name that nobody knows. */
export function unknownName(kind: string, name: string, known: readonly string[], remark = ''): string {
  return `there is no ${kind} ${JSON.stringify(name)}${remark}; ${meantOrListed(name, [...new Set(known)].sort(), 'none yet')}`
}

/**
 * A configured account by its name.
 * @param name undefined for the default account, or the only one.
 * @param field the option or field that gave the name; problems begin with it.
 * @throws MismatchError when there is no such account, or no name is given and several are configured.
 */
export function accountNamed<T extends Pick<AccountConfig, 'name' | 'default'>>(
  config: { readonly accounts: readonly T[] },
  name: string | undefined,
  field: string,
): T {
  const names = config.accounts.map((account) => account.name)
  if (name !== undefined) {
    const account = config.accounts.find((each) => each.name === name)
    if (account) return account
    throw new MismatchError([`${field}: there is no account ${JSON.stringify(name)} in the settings; ${meantOrListed(name, names)}`])
  }
  const [only, ...others] = config.accounts
  const account = config.accounts.find((each) => each.default) ?? (others.length === 0 ? only : undefined)
  if (account) return account
  const several = `there are several accounts and none is the default; name one of ${names.join(', ')}`
  throw new MismatchError([`${field}: ${names.length === 0 ? 'there is no account yet' : several}`])
}

/** A destination that was served. @throws NotFoundError when there is none of that name. */
export async function knownDestination(q: Query, name: string): Promise<DestinationRow> {
  const all = await listDestinations(q)
  const found = all.find((each) => each.destination === name)
  if (found) return found
  const known = all.map((each) => each.destination)
  throw new NotFoundError([unknownName('destination', name, known, ' (a configured one is known after the first `serve` with it)')])
}

/** A configured destination by its name. @throws NotFoundError when the settings have none of that name. */
export function destinationNamed(config: Pick<Config, 'destinations'>, name: string): DestinationConfig {
  const found = config.destinations.find((each) => each.name === name)
  if (found) return found
  const names = config.destinations.map((each) => each.name)
  throw new NotFoundError([`there is no destination ${JSON.stringify(name)} in the settings; ${meantOrListed(name, names)}`])
}

/** A table of service data by its name. @throws NotFoundError when there is none of that name. */
export function tableNamed(name: string): Entity {
  const found = entityNamed(name)
  if (found) return found
  const tables = entities.map(({ table }) => table)
  throw new NotFoundError([unknownName('table', name, tables, ' of service data')])
}

/** The problem of a submission that is not tracked. @param account null for all accounts. */
export function untrackedText(id: string, account: string | null): string {
  const where = account === null ? 'is tracked in no account' : `is not tracked in account ${account}`
  return `${id} ${where}; track it with \`submission-mirror track ${id} --account ${account ?? 'NAME'}\``
}

/** @throws NotFoundError with a line for each that is not tracked in the account. */
export async function refuseUntracked(q: Query, account: string, ids: readonly string[]): Promise<void> {
  const known = await knownSubmissions(
    q,
    ids.map((id) => ({ account, submission_id: id })),
  )
  const unknown = ids.filter((id) => !known.has(`${account} ${id}`))
  if (unknown.length === 0) return
  throw new NotFoundError(unknown.map((id) => untrackedText(id, account)))
}

/** Ids that are named where several could be meant. */
const MOST_NAMED = 10

/**
 * The whole id of what is only read, where it is given shortened; the text itself when no id begins so. A whole id is never looked for.
 * @param idsLike finds ids by their beginning; see `idsLike` of the store.
 * @throws ConflictError with the ids that could be meant when there are several.
 */
export async function wholeId(text: string, idsLike: (shortened: string, limit: number) => Promise<readonly string[]>): Promise<string> {
  const found = await idsLike(text, MOST_NAMED + 1)
  const [only = text, ...others] = found
  if (others.length === 0 || found.includes(text)) return found.includes(text) ? text : only
  const several = found.length > MOST_NAMED ? `more than ${MOST_NAMED} ids` : `${found.length} ids`
  throw new ConflictError([
    `${several} begin with ${JSON.stringify(printableLine(text))}; give more of it: ${found.slice(0, MOST_NAMED).join(', ')}`,
  ])
}
