import { sql } from 'kysely'
import type { Surprise } from '../../model/api-changes.ts'
import type { TimeText } from '../../model/time.ts'
import type { Db, Query, Tx } from '../engine/db.ts'
import { greatest, timeValue } from '../engine/sql.ts'
import type { ApiChangesTable } from '../schema/reads.ts'
import type { Columns } from '../schema/tables.ts'

/**
 * Maximum number of API changes stored for one account. A service that keeps sending new field names would otherwise
 * fill the table.
 */
export const MAX_API_CHANGES = 1_000

/** An API change that was seen in an account since the last write. `answers`: number of answers that had the change. */
export interface ApiChangeSeen extends Surprise {
  readonly account: string
  readonly resource: string
  readonly firstAt: TimeText
  readonly lastAt: TimeText
  readonly answers: number
}

/**
 * Stores API changes. For a known API change, increases `answers` and updates `last_seen_at`. A new API change is left
 * out if its account already has the maximum number of rows. A power failure may undo the last write.
 */
export async function writeApiChanges(db: Db, seen: readonly ApiChangeSeen[]): Promise<void> {
  await db.write(
    'api-changes',
    async (tx) => {
      for (const account of [...new Set(seen.map((one) => one.account))].sort()) {
        const rows = await withinRoom(
          tx,
          account,
          seen.filter((one) => one.account === account),
        )
        if (rows.length > 0) await add(tx, rows)
      }
    },
    { relaxedDurability: true },
  )
}

async function withinRoom(tx: Tx, account: string, seen: readonly ApiChangeSeen[]): Promise<ApiChangeSeen[]> {
  const stored = await tx.all(sql<Columns<'sync_api_changes', 'resource' | 'path' | 'kind' | 'type'>>`
    select resource, path, kind, type from sync_api_changes where account = ${account}`)
  const known = new Set(stored.map(keyOf))
  const fresh = seen.filter((one) => !known.has(keyOf(one))).slice(0, Math.max(0, MAX_API_CHANGES - stored.length))
  const rows = [...seen.filter((one) => known.has(keyOf(one))), ...fresh]
  // Write in the order of the keys. Otherwise two processes could deadlock.
  return rows.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
}

function keyOf({ resource, path, kind, type }: Omit<Surprise, 'kind'> & { resource: string; kind: string }): string {
  return JSON.stringify([resource, path, kind, type])
}

async function add(tx: Tx, rows: readonly ApiChangeSeen[]): Promise<void> {
  await tx.sql
    .insertInto('sync_api_changes')
    .values(
      rows.map(({ account, resource, path, kind, type, firstAt, lastAt, answers }) => ({
        account,
        resource,
        path,
        kind,
        type,
        answers,
        first_seen_at: timeValue(tx, firstAt),
        last_seen_at: timeValue(tx, lastAt),
      })),
    )
    .onConflict((conflict) =>
      conflict.columns(['account', 'resource', 'path', 'kind', 'type']).doUpdateSet((eb) => ({
        last_seen_at: sql<TimeText>`${greatest(tx, sql.ref('sync_api_changes.last_seen_at'), sql.ref('excluded.last_seen_at'))}`,
        answers: eb('sync_api_changes.answers', '+', eb.ref('excluded.answers')),
      })),
    )
    .execute()
}

/** Lists all API changes, by account, the newest first. */
export async function readApiChanges(q: Query): Promise<ApiChangesTable[]> {
  return await q.all(sql<ApiChangesTable>`
    select * from sync_api_changes order by account, first_seen_at desc, resource, path, kind, type`)
}

/** Counts the API changes by account and kind. */
export async function apiChangeCounts(q: Query): Promise<{ readonly account: string; readonly kind: string; readonly count: number }[]> {
  return await q.sql
    .selectFrom('sync_api_changes')
    .select(['account', 'kind', (eb) => eb.fn.countAll<number>().as('count')])
    .groupBy(['account', 'kind'])
    .execute()
}
