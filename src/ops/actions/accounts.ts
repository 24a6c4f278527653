import { meantOrListed } from '../../base/near-names.ts'
import type { AccountConfig } from '../../config/config.ts'
import type { TimeText } from '../../model/time.ts'
import type { Query } from '../../store/engine/db.ts'
import { auditedDb } from '../../store/operators/actions.ts'
import { retryAccountNow } from '../../store/reads/accounts.ts'
import { lastUses } from '../../store/reads/last-uses.ts'
import { listProcesses } from '../../store/upkeep/processes.ts'
import { ConflictError, MismatchError, NotFoundError } from '../output/refusals.ts'
import { type KnownAccount, knownAccounts } from '../status/accounts.ts'
import { type SecretState, secretStates } from '../status/webhook-secrets.ts'
import type { ActionContext } from './context.ts'

/** An account as lists show it. */
export interface ShownAccount extends KnownAccount {
  readonly webhook_secrets: readonly SecretState[]
  /** Its credentials in the order of the settings, by their ids. */
  readonly credentials: readonly ShownCredential[]
}

interface ShownCredential {
  readonly client_id: string
  readonly is_in_use: boolean
  /** When the service last gave a token for it, to some ten seconds; null when it never did. */
  readonly last_token_at: TimeText | null
}

/** Every account of the database and of the settings, by name. */
export async function shownAccounts(q: Query, configured: readonly AccountConfig[]): Promise<ShownAccount[]> {
  const secrets = await secretStates(q, configured)
  const lastUse = await lastUses(q, 'credential')
  return (await knownAccounts(q, configured)).map((each) => {
    const credentials = configured.find(({ name }) => name === each.account)?.clientCredentials ?? []
    return {
      ...each,
      webhook_secrets: secrets.get(each.account) ?? [],
      credentials: credentials.map(({ id }) => ({
        client_id: id,
        is_in_use: id === each.client_id,
        last_token_at: lastUse(each.account, id),
      })),
    }
  })
}

/** The outcome of resuming an account. */
export interface Resumed {
  /** The account as it was before. */
  readonly before: KnownAccount
  /** False when it was active: there was nothing to resume. */
  readonly resumed: boolean
  /** Whether a process runs that reads at once. */
  readonly running: boolean
}

/**
 * Resumes a parked or paused account at once.
 * @throws NotFoundError when it is unknown, ConflictError when it is not served.
 */
export async function resumeAccount(a: ActionContext, configured: readonly Pick<AccountConfig, 'name'>[], name: string): Promise<Resumed> {
  const known = await knownAccounts(a.db.read, configured)
  const before = known.find((each) => each.account === name)
  if (before === undefined) {
    const names = known.map((each) => each.account)
    throw new NotFoundError([`there is no account ${JSON.stringify(name)}; ${meantOrListed(name, names, 'none yet')}`])
  }
  if (before.state === 'not started')
    throw new ConflictError([`account ${name} was never served; start \`submission-mirror serve\` with it in the settings first`])
  if (before.state === 'not configured')
    throw new ConflictError([`account ${name} is not in the settings; add it again, then restart \`serve\``])
  const running = (await listProcesses(a.db.read)).some(({ role }) => role === 'all' || role === 'work')
  if (before.state === 'active') return { before, resumed: false, running }
  await retryAccountNow(auditedDb(a.db, { who: a.who, action: 'account.resume', target: name, detail: { was: before.state } }), name)
  return { before, resumed: true, running }
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
