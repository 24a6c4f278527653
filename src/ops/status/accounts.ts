import type { AccountConfig } from '../../config/config.ts'
import type { Query } from '../../store/engine/db.ts'
import { type AccountState, listAccounts } from '../../store/reads/accounts.ts'
import type { AccountsTable } from '../../store/schema/reads.ts'

/** An account's state as operators see it. `not configured`: only in the database. `not started`: only in the settings. */
export type ShownState = AccountState | 'not configured' | 'not started'

/** An account of the settings or of the database. */
export interface KnownAccount extends Pick<AccountsTable, 'account' | 'reason' | 'since' | 'retry_at' | 'brokerage' | 'client_id'> {
  readonly state: ShownState
}

/**
 * Every account of the database and of the settings, by name. Settings without any account are those of somebody who only looks into
 * the database; then every account keeps its stored state.
 */
export async function knownAccounts(q: Query, configured: readonly Pick<AccountConfig, 'name'>[]): Promise<KnownAccount[]> {
  const names = new Set(configured.map(({ name }) => name))
  const stored = (await listAccounts(q)).map((row): KnownAccount => {
    const { account, reason, since, retry_at, brokerage, client_id } = row
    const state = names.size === 0 || names.has(account) ? row.state : 'not configured'
    return { account, state, reason, since, retry_at, brokerage, client_id }
  })
  const known = new Set(stored.map(({ account }) => account))
  const never = [...names].filter((name) => !known.has(name)).map(neverServed)
  return [...stored, ...never].sort((a, b) => (a.account < b.account ? -1 : 1))
}

function neverServed(account: string): KnownAccount {
  return { account, state: 'not started', reason: null, since: null, retry_at: null, brokerage: null, client_id: null }
}
