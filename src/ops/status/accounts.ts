import { z } from 'zod'
import type { AccountConfig } from '../../config/config.ts'
import type { Query } from '../../store/engine/db.ts'
import { listAccounts } from '../../store/reads/accounts.ts'
import { time } from '../output/schema.ts'

/** An account that is in the settings or in the database. */
export const knownAccount = z.object({
  account: z.string(),
  state: z
    .enum(['active', 'paused', 'suspended', 'not configured', 'not started'])
    .describe('`not configured`: only in the database; `not started`: only in the settings'),
  reason: z.string().nullable(),
  since: time.nullable(),
  retry_at: time.nullable().describe('when the next automatic attempt is due'),
  brokerage: z.string().nullable().describe('the brokerage that owns its credentials'),
  client_id: z.string().nullable(),
  label: z.string().nullable().describe('name of the credential in the service'),
  active_states: z.array(z.string()).readonly().nullable().describe('the states in which the service is active; null: all'),
})

type KnownAccount = z.output<typeof knownAccount>

const unserved = { reason: null, since: null, retry_at: null, brokerage: null, client_id: null, label: null, active_states: null }

/**
 * @returns all accounts of the database and the settings, sorted by name.
 * An account that is only in the database gets the state `not configured`.
 * If the settings have no accounts, as for commands that only read the database, every account keeps its stored
 * state.
 */
export async function knownAccounts(q: Query, configured: readonly Pick<AccountConfig, 'name'>[]): Promise<KnownAccount[]> {
  const names = new Set(configured.map(({ name }) => name))
  const stored = (await listAccounts(q)).map((row): KnownAccount => {
    const active_states = row.active_states === null ? null : (JSON.parse(row.active_states) as string[])
    return { ...row, active_states, state: names.size === 0 || names.has(row.account) ? row.state : 'not configured' }
  })
  const known = new Set(stored.map(({ account }) => account))
  const never = [...names]
    .filter((name) => !known.has(name))
    .map((account): KnownAccount => ({ account, state: 'not started', ...unserved }))
  return [...stored, ...never].sort((a, b) => (a.account < b.account ? -1 : 1))
}
