import { sql } from 'kysely'
import { storableText } from '../../model/json.ts'
import type { TimeText } from '../../model/time.ts'
import type { Db, Query, Tx } from '../engine/db.ts'
import { wake } from '../engine/notify.ts'
import { dbTime } from '../engine/sql.ts'
import type { AccountsTable } from '../schema/reads.ts'

/** Values of `sweep_wanted`. */
export const sweep = { none: 0, wanted: 1, begun: 2 } as const

export async function ensureAccounts(db: Db, names: readonly string[]): Promise<void> {
  await db.write('accounts', async (tx) => {
    for (const account of [...names].sort())
      await tx.run(sql`
        insert into sync_accounts (account, state, sweep_wanted) values (${account}, 'active', ${sweep.none})
        on conflict do nothing`)
  })
}

/** @returns null if the account was never configured. */
export async function findAccount(q: Query, account: string): Promise<AccountsTable | null> {
  return (await q.sql.selectFrom('sync_accounts').selectAll().where('account', '=', account).executeTakeFirst()) ?? null
}

/** Whether the account is active with a checked brokerage. Only the poller may read other accounts. */
export async function isAccountOpen(q: Query, account: string): Promise<boolean> {
  const row = await findAccount(q, account)
  return row !== null && row.state === 'active' && row.brokerage !== null
}

/** Whether a stopped account may be retried, by the database's clock. */
export async function isRetryDue(q: Query, account: string): Promise<boolean> {
  return await q.exists(sql`select 1 from sync_accounts where account = ${account} and (retry_at is null or retry_at <= ${dbTime(q)})`)
}

export async function listAccounts(q: Query): Promise<AccountsTable[]> {
  return q.sql.selectFrom('sync_accounts').selectAll().orderBy('account').execute()
}

/**
 * Stops reading an account for `retryInMs`. Deliveries are still accepted.
 * @param state `suspended` after rejections; `paused` if the service answers for another brokerage.
 * @param refusedWith fingerprint of rejected settings.
 */
export async function stopAccount(
  db: Db,
  account: string,
  state: 'paused' | 'suspended',
  reason: string,
  retryInMs: number,
  refusedWith: string | null = null,
): Promise<void> {
  await db.write('account-stop', async (tx) => {
    await tx.run(sql`
      update sync_accounts set state = ${state}, reason = ${storableText(reason)},
      since = case when state = ${state} then coalesce(since, ${dbTime(tx)}) else ${dbTime(tx)} end, retry_at = ${dbTime(tx, retryInMs)},
      refused_with = ${refusedWith} where account = ${account}`)
  })
}

/** Resumes reading an account. @returns false if the account doesn't exist. */
export async function resumeAccount(db: Db, account: string): Promise<boolean> {
  return db.write('account-resume', async (tx) => {
    const result = await tx.run(sql`
      update sync_accounts set state = 'active', reason = null, since = null, retry_at = null, refused_with = null
      where account = ${account}`)
    wake(tx, 'reads')
    return result > 0
  })
}

/** Makes a stopped account's retry due. A success resumes the account. */
export async function retryAccountNow(db: Db, account: string): Promise<void> {
  await db.write('account-retry', async (tx) => {
    await tx.run(sql`update sync_accounts set retry_at = ${dbTime(tx)} where account = ${account}`)
    wake(tx, 'reads')
  })
}

/** Records why the service doesn't identify the credentials' owner, and since when. Cleared by `pinBrokerage`. */
export async function noteIdentityFault(db: Db, account: string, reason: string): Promise<void> {
  await db.write('account-identity-fault', (tx) =>
    tx.run(sql`
    update sync_accounts set identity_error = ${storableText(reason)},
    identity_failing_since = coalesce(identity_failing_since, ${dbTime(tx)}) where account = ${account}`),
  )
}

export interface AccountIdentity {
  readonly brokerage: string
  readonly clientId: string | null
  readonly label?: string | null
  readonly activeStates?: readonly string[] | null
}

/** Stores the brokerage of the credentials; never replaces it. Other columns are only displayed. */
export async function pinBrokerage(
  db: Db,
  account: string,
  { brokerage, clientId, label = null, activeStates = null }: AccountIdentity,
): Promise<void> {
  await db.write('account-pin', (tx) =>
    tx.run(sql`
    update sync_accounts set brokerage = coalesce(brokerage, ${brokerage}), client_id = ${clientId}, label = ${label},
    active_states = ${activeStates === null ? null : JSON.stringify(activeStates)}, identity_error = null, identity_failing_since = null
    where account = ${account}`),
  )
}

/** Requests a sweep after a delivery that names no submission (trap 25). */
export async function requestSweep(tx: Tx, account: string): Promise<void> {
  await tx.run(sql`update sync_accounts set sweep_wanted = ${sweep.wanted} where account = ${account} and sweep_wanted <> ${sweep.wanted}`)
  wake(tx, 'reads')
}

/** Duration in ms after an unreadable delivery. Feeds find its events, and they don't count as lost webhooks. */
const UNREADABLE_MS = 86_400_000

/** Call after readable event deliveries. Clears unreadable ones if over a day old. */
export async function forgetUnreadableEvents(tx: Tx, accounts: readonly string[]): Promise<void> {
  const update = tx.sql.updateTable('sync_accounts').set({ events_unreadable_at: null })
  await update.where('account', 'in', accounts).where('events_unreadable_at', '<', dbTime(tx, -UNREADABLE_MS)).execute()
}

/** Records an unreadable event delivery. Its events look like lost webhooks. */
export async function noteUnreadableEvents(tx: Tx, account: string, now: TimeText): Promise<void> {
  await tx.sql.updateTable('sync_accounts').set({ events_unreadable_at: now }).where('account', '=', account).execute()
}
