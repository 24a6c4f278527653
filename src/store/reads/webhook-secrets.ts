import { sql } from 'kysely'
import type { TimeText } from '../../model/time.ts'
import type { Db, Query } from '../engine/db.ts'
import { timeValue } from '../engine/sql.ts'

/** When a webhook secret last verified a delivery. `tag` is from `secretTag`. */
export interface SecretUse {
  readonly account: string
  readonly tag: string
  readonly at: TimeText
}

/** Saves uses. An older one never overwrites a newer one, whichever process saw it. */
export async function saveSecretUses(db: Db, uses: readonly SecretUse[]): Promise<void> {
  await db.write('webhook-secrets', async (tx) => {
    // In key order, as every process takes its locks.
    for (const { account, tag, at } of [...uses].sort((a, b) => (a.account + a.tag < b.account + b.tag ? -1 : 1))) {
      await sql`
        insert into sync_webhook_secrets (account, tag, last_verified_at) values (${account}, ${tag}, ${timeValue(tx, at)})
        on conflict (account, tag) do update set last_verified_at = excluded.last_verified_at
        where excluded.last_verified_at > sync_webhook_secrets.last_verified_at`.execute(tx.sql)
    }
  })
}

/** The uses of all secrets, by account and tag. */
export async function secretUses(q: Query): Promise<SecretUse[]> {
  const rows = await q.sql.selectFrom('sync_webhook_secrets').selectAll().orderBy('account').orderBy('tag').execute()
  return rows.map(({ account, tag, last_verified_at }) => ({ account, tag, at: last_verified_at }))
}
