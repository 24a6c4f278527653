import { sql } from 'kysely'
import { storableText } from '../../model/json.ts'
import type { TimeText } from '../../model/time.ts'
import type { Db, Query, Tx } from '../engine/db.ts'
import { wake } from '../engine/notify.ts'
import { dbTime } from '../engine/sql.ts'
import type { AccountsTable } from '../schema/reads.ts'

/** Values of `sweep_wanted`. A sweep requests the feeds of all recently active submissions of an account. */
export const sweep = { none: 0, wanted: 1, begun: 2 } as const

export async function ensureAccounts(db: Db, names: readonly string[]): Promise<void> {
  await db.write('accounts', async (tx) => {
    for (const account of [...names].sort())
      await tx.run(sql`
        insert into sync_accounts (account, state, sweep_wanted) values (${account}, 'active', ${sweep.none})
        on conflict do nothing`)
  })
}

/** @returns the account's row; null if the account was never configured. */
export async function findAccount(q: Query, account: string): Promise<AccountsTable | null> {
  return (await q.sql.selectFrom('sync_accounts').selectAll().where('account', '=', account).executeTakeFirst()) ?? null
}

/**
 * @returns whether the account is active and its brokerage is known. Otherwise, only the poller may send requests, to
 * try the account again.
 */
export async function isAccountOpen(q: Query, account: string): Promise<boolean> {
  const row = await findAccount(q, account)
  return row !== null && row.state === 'active' && row.brokerage !== null
}

/** @returns whether a stopped account may be tried again now, by the database's clock. */
export async function isRetryDue(q: Query, account: string): Promise<boolean> {
  return await q.exists(sql`select 1 from sync_accounts where account = ${account} and (retry_at is null or retry_at <= ${dbTime(q)})`)
}

export async function listAccounts(q: Query): Promise<AccountsTable[]> {
  return q.sql.selectFrom('sync_accounts').selectAll().orderBy('account').execute()
}

/**
 * Stops reading an account; the poller tries it again after `retryInMs`. Deliveries for the account are still accepted.
 * @param state `suspended` if the service rejects the credentials or all reads; `paused` if the credentials belong to
 *   another brokerage, or if many known submissions are suddenly not found.
 * @param refusedWith fingerprint of the settings in use at the stop, so that `serve` notices changed settings; null if
 *   not computed.
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

/**
 * Resumes reading an account.
 * @returns false if the account has no row.
 */
export async function resumeAccount(db: Db, account: string): Promise<boolean> {
  return db.write('account-resume', async (tx) => {
    const result = await tx.run(sql`
      update sync_accounts set state = 'active', reason = null, since = null, retry_at = null, refused_with = null
      where account = ${account}`)
    wake(tx, 'reads')
    return result > 0
  })
}

/** Makes a stopped account due now for another try. If the try succeeds, the account is resumed. */
export async function retryAccountNow(db: Db, account: string): Promise<void> {
  await db.write('account-retry', async (tx) => {
    await tx.run(sql`update sync_accounts set retry_at = ${dbTime(tx)} where account = ${account}`)
    wake(tx, 'reads')
  })
}

/**
 * Stores why the service doesn't identify the brokerage of the credentials, and since when. `pinBrokerage` clears both.
 */
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

/**
 * Stores the brokerage that the credentials belong to. A brokerage that is already stored stays. Also stores data that
 * is only for display: the client id, the label, and the US states where the service is active. Clears the fault of
 * `noteIdentityFault`.
 */
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

/** Requests a sweep of the account; see `sweep`. Call this after a delivery that names no submission (trap 25). */
export async function requestSweep(tx: Tx, account: string): Promise<void> {
  await tx.run(sql`update sync_accounts set sweep_wanted = ${sweep.wanted} where account = ${account} and sweep_wanted <> ${sweep.wanted}`)
  wake(tx, 'reads')
}

/**
 * If a delivery could not be read, its events first appear in a feed. For this many ms after such a delivery, events
 * that first appear in a feed don't count as lost webhooks.
 */
const UNREADABLE_MS = 86_400_000

/**
 * Clears marks of `noteUnreadableEvents` that are over a day old. Call this after an event delivery that could be read.
 */
export async function forgetUnreadableEvents(tx: Tx, accounts: readonly string[]): Promise<void> {
  const update = tx.sql.updateTable('sync_accounts').set({ events_unreadable_at: null })
  await update.where('account', 'in', accounts).where('events_unreadable_at', '<', dbTime(tx, -UNREADABLE_MS)).execute()
}

/**
 * Stores that an event delivery couldn't be read. Its events will first appear in a feed, and would otherwise count as
 * lost webhooks.
 */
export async function noteUnreadableEvents(tx: Tx, account: string, now: TimeText): Promise<void> {
  await tx.sql.updateTable('sync_accounts').set({ events_unreadable_at: now }).where('account', '=', account).execute()
}
