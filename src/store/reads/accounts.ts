import { sql } from 'kysely'
import { storableText } from '../../model/json.ts'
import type { TimeText } from '../../model/time.ts'
import type { Db, Query, Tx } from '../engine/db.ts'
import { wake } from '../engine/notify.ts'
import { dbTime } from '../engine/sql.ts'
import type { AccountsTable } from '../schema/reads.ts'

/** Values of `sweep_wanted`: none, a sweep is requested, or one has begun and not ended. */
export const sweep = { none: 0, wanted: 1, begun: 2 } as const

/** Creates the missing rows of configured accounts. */
export async function ensureAccounts(db: Db, names: readonly string[]): Promise<void> {
  await db.write('accounts', async (tx) => {
    for (const account of [...names].sort())
      await sql`
        insert into sync_accounts (account, state, sweep_wanted) values (${account}, 'active', ${sweep.none})
        on conflict do nothing`.execute(tx.sql)
  })
}

/** The account's row; null when it was never configured here. */
export async function findAccount(q: Query, account: string): Promise<AccountsTable | null> {
  return (await q.sql.selectFrom('sync_accounts').selectAll().where('account', '=', account).executeTakeFirst()) ?? null
}

/** Whether reads beside those of its poller may be made: the account is active, and its brokerage was checked. */
export async function isAccountOpen(q: Query, account: string): Promise<boolean> {
  const row = await findAccount(q, account)
  return row !== null && row.state === 'active' && row.brokerage !== null
}

/** Whether a stopped account may be tried again. Uses the database's clock, which set the time (invariant 14). */
export async function isRetryDue(q: Query, account: string): Promise<boolean> {
  const row = await q.sql
    .selectFrom('sync_accounts')
    .select('account')
    .where('account', '=', account)
    .where((eb) => eb.or([eb('retry_at', 'is', null), eb('retry_at', '<=', dbTime(q))]))
    .executeTakeFirst()
  return row !== undefined
}

export async function listAccounts(q: Query): Promise<AccountsTable[]> {
  return q.sql.selectFrom('sync_accounts').selectAll().orderBy('account').execute()
}

/**
 * Stops reading an account until `retryInMs` from now: `suspended` when its credentials or all its reads were refused, `paused` when the service
 * answers for another brokerage. Deliveries are still accepted.
 * @param refusedWith fingerprint of what was refused.
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
    await tx.sql
      .updateTable('sync_accounts')
      .set({
        state,
        // May quote an answer that contains characters Postgres refuses (trap 72).
        reason: storableText(reason),
        since: sql<TimeText>`case when state = ${state} then coalesce(since, ${dbTime(tx)}) else ${dbTime(tx)} end`,
        retry_at: dbTime(tx, retryInMs),
        refused_with: refusedWith,
      })
      .where('account', '=', account)
      .execute()
  })
}

/** Lets an account be read again at once. @returns false when there is no such account. */
export async function resumeAccount(db: Db, account: string): Promise<boolean> {
  return db.write('account-resume', async (tx) => {
    const result = await tx.sql
      .updateTable('sync_accounts')
      .set({ state: 'active', reason: null, since: null, retry_at: null, refused_with: null })
      .where('account', '=', account)
      .executeTakeFirst()
    wake(tx, 'reads')
    return result.numUpdatedRows > 0n
  })
}

/** Makes a stopped account retry at once. It stays stopped until that succeeds. */
export async function retryAccountNow(db: Db, account: string): Promise<void> {
  await db.write('account-retry', async (tx) => {
    await tx.sql
      .updateTable('sync_accounts')
      .set({ retry_at: dbTime(tx) })
      .where('account', '=', account)
      .execute()
    wake(tx, 'reads')
  })
}

/** Keeps why the service does not say whose the credentials are, and since when. `pinBrokerage` ends it. */
export async function noteIdentityFault(db: Db, account: string, reason: string): Promise<void> {
  await db.write('account-identity-fault', (tx) =>
    tx.sql
      .updateTable('sync_accounts')
      .set({ identity_error: storableText(reason), identity_failing_since: sql<TimeText>`coalesce(identity_failing_since, ${dbTime(tx)})` })
      .where('account', '=', account)
      .execute(),
  )
}

/** Whose the credentials of an account are, as the service says. */
export interface AccountIdentity {
  readonly brokerage: string
  readonly clientId: string | null
  readonly label?: string | null
  readonly activeStates?: readonly string[] | null
}

/** Pins the brokerage of the account's credentials. Written once. All else is kept for display only. */
export async function pinBrokerage(
  db: Db,
  account: string,
  { brokerage, clientId, label = null, activeStates = null }: AccountIdentity,
): Promise<void> {
  await db.write('account-pin', (tx) =>
    tx.sql
      .updateTable('sync_accounts')
      .set({
        brokerage: sql<string>`coalesce(brokerage, ${brokerage})`,
        client_id: clientId,
        label,
        active_states: activeStates === null ? null : JSON.stringify(activeStates),
        identity_error: null,
        identity_failing_since: null,
      })
      .where('account', '=', account)
      .execute(),
  )
}

/** Requests a sweep: a delivery said that something happened, but not where (trap 25). */
export async function requestSweep(tx: Tx, account: string): Promise<void> {
  await tx.sql
    .updateTable('sync_accounts')
    .set({ sweep_wanted: sweep.wanted })
    .where('account', '=', account)
    .where('sweep_wanted', '<>', sweep.wanted)
    .execute()
  wake(tx, 'reads')
}

/** Within this time of a delivery that could not be read its events are found by a feed and judged: it is no lost webhook. */
const UNREADABLE_MS = 86_400_000

/** Records that an event delivery of each account could be read, a day after the last that could not. */
export async function forgetUnreadableEvents(tx: Tx, accounts: readonly string[]): Promise<void> {
  const update = tx.sql.updateTable('sync_accounts').set({ events_unreadable_at: null })
  await update.where('account', 'in', accounts).where('events_unreadable_at', '<', dbTime(tx, -UNREADABLE_MS)).execute()
}

/** Records that event deliveries of the account cannot be read here: a lost one cannot be told from an unreadable one. */
export async function noteUnreadableEvents(tx: Tx, account: string, now: TimeText): Promise<void> {
  await tx.sql.updateTable('sync_accounts').set({ events_unreadable_at: now }).where('account', '=', account).execute()
}
