import { sql } from 'kysely'
import type { TimeText } from '../../model/time.ts'
import type { Db, Query } from '../engine/db.ts'
import { timeValue } from '../engine/sql.ts'

/** When the service last gave a token for a credential. */
export interface CredentialUse {
  readonly account: string
  readonly clientId: string
  readonly at: TimeText
}

/** Saves uses. An older one never overwrites a newer one, whichever process saw it. */
export async function saveCredentialUses(db: Db, uses: readonly CredentialUse[]): Promise<void> {
  await db.write('credential-uses', async (tx) => {
    // In key order, as every process takes its locks.
    for (const { account, clientId, at } of [...uses].sort((a, b) => (a.account + a.clientId < b.account + b.clientId ? -1 : 1))) {
      await sql`
        insert into sync_credential_uses (account, client_id, last_token_at) values (${account}, ${clientId}, ${timeValue(tx, at)})
        on conflict (account, client_id) do update set last_token_at = excluded.last_token_at
        where excluded.last_token_at > sync_credential_uses.last_token_at`.execute(tx.sql)
    }
  })
}

/** The uses of all credentials, by account and id. */
export async function credentialUses(q: Query): Promise<CredentialUse[]> {
  const rows = await q.sql.selectFrom('sync_credential_uses').selectAll().orderBy('account').orderBy('client_id').execute()
  return rows.map(({ account, client_id: clientId, last_token_at: at }) => ({ account, clientId, at }))
}
