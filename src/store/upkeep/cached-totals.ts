import { sql } from 'kysely'
import { isObject, parsedJson } from '../../model/json.ts'
import type { TimeText } from '../../model/time.ts'
import { logEnds } from '../changes/log-info.ts'
import type { Db, Query } from '../engine/db.ts'
import { dbTime } from '../engine/sql.ts'
import type { AccountCompletenessView } from '../schema/completeness.ts'
import type { InboxState } from '../schema/inbox.ts'
import type { ReadCoverage } from './coverage.ts'
import { renewUpkeep, type UpkeepLease } from './upkeep.ts'

export interface AccountTotals {
  readonly submissions: number
  /** Number of submissions that the service no longer shows. */
  readonly unreachable: number
  /** Number of submissions whose feeds or requirements were never read to the end. Counting stops at a maximum. */
  readonly never_read: number
  readonly reads: { readonly overdue: number; readonly oldest_due_at: TimeText | null; readonly failing: number }
  /** Requests per second that are needed to poll on schedule. */
  readonly demand_rps: number
  readonly coverage: {
    readonly submissions: readonly ReadCoverage[]
    readonly ids: readonly ReadCoverage[]
    readonly extra: readonly ReadCoverage[]
  }
  readonly tables: readonly { readonly table: string; readonly read: string; readonly rows: number }[]
  readonly documents: { readonly known: number; readonly stored: number }
  readonly inbox: Readonly<Record<InboxState, number>>
  readonly conflicts: number
  readonly unreadable: number
  /** Null if the account was never started. */
  readonly completeness: AccountCompletenessView | null
}

export type Totals = Readonly<Record<string, AccountTotals>>

export interface CachedTotals {
  readonly countedAt: TimeText
  readonly sums: Totals
}

/** Totals of an account that isn't in the cached totals yet: all 0. */
export const noTotals: AccountTotals = {
  submissions: 0,
  unreachable: 0,
  never_read: 0,
  reads: { overdue: 0, oldest_due_at: null, failing: 0 },
  demand_rps: 0,
  coverage: { submissions: [], ids: [], extra: [] },
  tables: [],
  documents: { known: 0, stored: 0 },
  inbox: { ready: 0, done: 0, aside: 0, dead: 0 },
  conflicts: 0,
  unreadable: 0,
  completeness: null,
}

/** If the change log has at most this many changes, counting the whole mirror takes about 10 ms. */
const LITTLE = 20_000

/**
 * @returns whether the mirror is small enough to count all its rows during a request.
 * @param most maximum `seq` in the change log of a small mirror.
 */
export async function isSmallMirror(q: Query, most = LITTLE): Promise<boolean> {
  return (await logEnds(q)).last_seq <= most
}

/** @returns the cached totals; null if totals were never counted. */
export async function cachedTotals(q: Query): Promise<CachedTotals | null> {
  const row = await q.sql.selectFrom('sync_sums').select(['counted_at', 'sums']).where('id', '=', 1).executeTakeFirst()
  const sums: unknown = row && parsedJson(row.sums)
  return row && isObject(sums) ? { countedAt: row.counted_at, sums: sums as Totals } : null
}

/**
 * Replaces the cached totals.
 * @throws LeaseLostError if this process lost the lease.
 */
export async function cacheTotals(db: Db, lease: UpkeepLease, sums: Totals): Promise<void> {
  await db.write(
    'sums',
    async (tx) => {
      await renewUpkeep(tx, lease)
      await tx.run(sql`
        insert into sync_sums (id, counted_at, sums) values (1, ${dbTime(tx)}, ${JSON.stringify(sums)})
        on conflict (id) do update set counted_at = excluded.counted_at, sums = excluded.sums`)
    },
    { relaxedDurability: true },
  )
}
