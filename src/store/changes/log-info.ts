import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import type { Query, Tx } from '../engine/db.ts'

export async function hasInfo(q: Query): Promise<boolean> {
  return (await q.sql.selectFrom('mirror_info').select('id').executeTakeFirst()) !== undefined
}

/**
 * Recreates a missing `mirror_info` row. `last_seq` becomes the greatest number in the change log and in the cursors of
 * the destinations. With a smaller `last_seq`, a number could be assigned twice.
 */
export async function restoreInfo(tx: Tx): Promise<void> {
  await tx.run(sql`
    insert into mirror_info (id, schema_version, log_epoch, first_seq, last_seq)
    select 1, version, ${randomUUID()}, coalesce(oldest, newest + 1), newest from (
      select (select max(version) from sync_migrations) as version, (select min(seq) from changes) as oldest,
        coalesce((select max(seq) from (select max(seq) as seq from changes union all select max(cursor) from sync_destinations) as seen), 0) as newest
    ) as known where 1 = 1 on conflict (id) do nothing`)
}

/** `first_seq` and `last_seq` of `mirror_info`; 1 and 0 if the row is missing. */
export async function logEnds(q: Query): Promise<{ readonly first_seq: number; readonly last_seq: number }> {
  const row = await q.sql.selectFrom('mirror_info').select(['first_seq', 'last_seq']).where('id', '=', 1).executeTakeFirst()
  return row ?? { first_seq: 1, last_seq: 0 }
}

export function infoOf(q: Query): Promise<{ log_epoch: string; first_seq: number; last_seq: number }> {
  return q.sql.selectFrom('mirror_info').select(['log_epoch', 'first_seq', 'last_seq']).where('id', '=', 1).executeTakeFirstOrThrow()
}
