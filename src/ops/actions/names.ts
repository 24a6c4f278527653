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

/**
 * Rejects names of accounts and destinations that are in neither the settings nor the database.
 * Otherwise, a misspelled name would give an empty list that looks correct.
 * @throws NotFoundError with one line per unknown name.
 */
export async function refuseUnknownNames(
  q: Query,
  { accounts, destinations }: Pick<Config, 'accounts' | 'destinations'>,
  { account, destination }: { readonly account?: string | undefined; readonly destination?: string | undefined },
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

/** @returns the problem text for an unknown name. The text suggests similar names, or lists all known names. */
export function unknownName(kind: string, name: string, known: readonly string[], remark = ''): string {
  return `unknown ${kind} ${JSON.stringify(name)}${remark}; ${meantOrListed(name, [...new Set(known)].sort(), 'none yet')}`
}

/**
 * @returns a configured account.
 * @param name undefined for the default account. If no account is the default, undefined selects the only account.
 * @param field option or field, for the problem text.
 * @throws MismatchError if the account is not configured, or if `name` is undefined and selects no account.
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
    throw new MismatchError([`${field}: the settings have no account ${JSON.stringify(name)}; ${meantOrListed(name, names)}`])
  }
  const [only, ...others] = config.accounts
  const account = config.accounts.find((each) => each.default) ?? (others.length === 0 ? only : undefined)
  if (account) return account
  const several = `no default account is configured. Use one of ${names.join(', ')}`
  throw new MismatchError([`${field}: ${names.length === 0 ? 'no account exists yet' : several}`])
}

/** @returns a destination from the database. @throws NotFoundError if the database has no such destination. */
export async function knownDestination(q: Query, name: string): Promise<DestinationRow> {
  const all = await listDestinations(q)
  const found = all.find((each) => each.destination === name)
  if (found) return found
  const known = all.map((each) => each.destination)
  throw new NotFoundError([unknownName('destination', name, known, ' (a new destination is known after `serve` started with it)')])
}

/** @returns a destination from the settings. @throws NotFoundError if the settings have no such destination. */
export function destinationNamed(config: Pick<Config, 'destinations'>, name: string): DestinationConfig {
  const found = config.destinations.find((each) => each.name === name)
  if (found) return found
  const names = config.destinations.map((each) => each.name)
  throw new NotFoundError([`the settings have no destination ${JSON.stringify(name)}; ${meantOrListed(name, names)}`])
}

/** @returns the descriptor of a table of service data. @throws NotFoundError if there is no such table. */
export function tableNamed(name: string): Entity {
  const found = entityNamed(name)
  if (found) return found
  const tables = entities.map(({ table }) => table)
  throw new NotFoundError([unknownName('table', name, tables)])
}

/** @returns the problem text for an untracked submission. @param account null if the request names no account. */
export function untrackedText(id: string, account: string | null): string {
  const where = account === null ? 'is not tracked in any account' : `is not tracked in account ${account}`
  return `${id} ${where}. Track it with \`submission-mirror track ${id} --account ${account ?? 'NAME'}\``
}

/** @throws NotFoundError with one line per submission that is not tracked in the account. */
export async function refuseUntracked(q: Query, account: string, ids: readonly string[]): Promise<void> {
  const known = await knownSubmissions(
    q,
    ids.map((id) => ({ account, submission_id: id })),
  )
  const unknown = ids.filter((id) => !known.has(`${account} ${id}`))
  if (unknown.length === 0) return
  throw new NotFoundError(unknown.map((id) => untrackedText(id, account)))
}

/** Maximum number of ids that an error lists. */
const MOST_NAMED = 10

/**
 * Completes a shortened id.
 * @param idsLike finds ids by their first characters; see `idsLike` of the store.
 * @returns the only id that begins with `text`.
 * If `text` is a complete id, or if no id begins with `text`, returns `text`.
 * @throws ConflictError with the matching ids if several ids begin with `text`.
 */
export async function wholeId(text: string, idsLike: (shortened: string, limit: number) => Promise<readonly string[]>): Promise<string> {
  const found = await idsLike(text, MOST_NAMED + 1)
  const [only = text, ...others] = found
  if (others.length === 0 || found.includes(text)) return found.includes(text) ? text : only
  const several = found.length > MOST_NAMED ? `more than ${MOST_NAMED} ids` : `${found.length} ids`
  throw new ConflictError([
    `${several} begin with ${JSON.stringify(printableLine(text))}; use more characters: ${found.slice(0, MOST_NAMED).join(', ')}`,
  ])
}
