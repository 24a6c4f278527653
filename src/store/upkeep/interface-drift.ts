import { sql } from 'kysely'
import type { Surprise } from '../../model/interface-drift.ts'
import type { TimeText } from '../../model/time.ts'
import type { Db, Query, Tx } from '../engine/db.ts'
import { greatest, timeValue } from '../engine/sql.ts'
import type { InterfaceDriftTable } from '../schema/reads.ts'

/** Rows that an account may have. A service that names its fields anew each time must not fill the database. */
export const MOST_DRIFT = 1_000

/** What was seen in an account since the last time it was written. */
export interface DriftSeen extends Surprise {
  readonly account: string
  readonly resource: string
  readonly firstAt: TimeText
  readonly lastAt: TimeText
  readonly answers: number
}

/** Adds what was seen. Of what is new only as much as an account has room for. A power failure may take the last of it. */
export async function writeInterfaceDrift(db: Db, seen: readonly DriftSeen[]): Promise<void> {
  await db.write(
    'interface-drift',
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

async function withinRoom(tx: Tx, account: string, seen: readonly DriftSeen[]): Promise<DriftSeen[]> {
  const stored = await tx.sql
    .selectFrom('sync_interface_drift')
    .select(['resource', 'path', 'kind', 'type'])
    .where('account', '=', account)
    .execute()
  const known = new Set(stored.map(keyOf))
  const fresh = seen.filter((one) => !known.has(keyOf(one))).slice(0, Math.max(0, MOST_DRIFT - stored.length))
  const rows = [...seen.filter((one) => known.has(keyOf(one))), ...fresh]
  // In the order of their keys, so that two processes never wait for each other.
  return rows.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
}

function keyOf({ resource, path, kind, type }: Omit<Surprise, 'kind'> & { resource: string; kind: string }): string {
  return JSON.stringify([resource, path, kind, type])
}

async function add(tx: Tx, rows: readonly DriftSeen[]): Promise<void> {
  await tx.sql
    .insertInto('sync_interface_drift')
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
        last_seen_at: sql<TimeText>`${greatest(tx, sql.ref('sync_interface_drift.last_seen_at'), sql.ref('excluded.last_seen_at'))}`,
        answers: eb('sync_interface_drift.answers', '+', eb.ref('excluded.answers')),
      })),
    )
    .execute()
}

/** @returns everything that was seen, what was seen first lately before the rest. */
export async function readInterfaceDrift(q: Query): Promise<InterfaceDriftTable[]> {
  return await q.sql
    .selectFrom('sync_interface_drift')
    .selectAll()
    .orderBy('account')
    .orderBy('first_seen_at', 'desc')
    .orderBy('resource')
    .orderBy('path')
    .orderBy('kind')
    .orderBy('type')
    .execute()
}

/** @returns how many rows each account has of each kind. */
export async function interfaceDriftCounts(
  q: Query,
): Promise<{ readonly account: string; readonly kind: string; readonly count: number }[]> {
  const rows = await q.sql
    .selectFrom('sync_interface_drift')
    .select(['account', 'kind', (eb) => eb.fn.countAll<number>().as('count')])
    .groupBy(['account', 'kind'])
    .execute()
  return rows.map((row) => ({ ...row, count: Number(row.count) }))
}
