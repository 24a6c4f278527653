import { sql } from 'kysely'
import { isObject } from '../../model/json.ts'
import type { TimeText } from '../../model/time.ts'
import type { Db, Query } from '../engine/db.ts'
import { dbTime } from '../engine/sql.ts'
import type { AccountCompletenessView } from '../schema/completeness.ts'
import type { InboxState } from '../schema/inbox.ts'
import type { ReadCoverage } from './coverage.ts'
import { changeLogEnds } from './gauges.ts'
import { renewUpkeep, type UpkeepLease } from './upkeep.ts'

/** What sums up all that there is of an account. */
export interface AccountSums {
  readonly submissions: number
  /** Of which the service does not show any more. */
  readonly unreachable: number
  /** Of the others: those of which one of the main reads never came to its end; counted up to a limit. */
  readonly neverRead: number
  readonly reads: { readonly overdue: number; readonly oldest_due_at: TimeText | null; readonly failing: number }
  /** Requests a second that the timetable asks for. */
  readonly demand_rps: number
  /** Reads of submissions, reads by id, and extra reads. */
  readonly coverage: {
    readonly submissions: readonly ReadCoverage[]
    readonly ids: readonly ReadCoverage[]
    readonly extra: readonly ReadCoverage[]
  }
  /** Rows of each table of service data, counted up to a limit. */
  readonly tables: readonly { readonly table: string; readonly read: string; readonly rows: number }[]
  readonly documents: { readonly known: number; readonly stored: number }
  readonly inbox: Readonly<Record<InboxState, number>>
  readonly conflicts: number
  readonly unreadable: number
  /** null: the account was never started. */
  readonly completeness: AccountCompletenessView | null
}

/** By account. */
export type Sums = Readonly<Record<string, AccountSums>>

export interface KeptSums {
  readonly countedAt: TimeText
  readonly sums: Sums
}

/** An account that was added after the sums were counted. */
export const noSums: AccountSums = {
  submissions: 0,
  unreachable: 0,
  neverRead: 0,
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

/** Up to so many changes that were ever made, everything is counted in some ten milliseconds. */
const LITTLE = 20_000

/** Whether the mirror is so small that a request may count all of it. @param most changes that were ever made. */
export async function isLittle(q: Query, most = LITTLE): Promise<boolean> {
  return (await changeLogEnds(q)).lastSeq <= most
}

/** What was counted last; null: nothing yet. */
export async function keptSums(q: Query): Promise<KeptSums | null> {
  const row = await q.sql.selectFrom('sync_sums').select(['counted_at', 'sums']).where('id', '=', 1).executeTakeFirst()
  const sums = row && parsed(row.sums)
  return row && sums ? { countedAt: row.counted_at, sums } : null
}

/** Keeps what was counted, in the place of what was kept. @throws LeaseLostError when another process has taken over. */
export async function keepSums(db: Db, lease: UpkeepLease, sums: Sums): Promise<void> {
  await db.write(
    'sums',
    async (tx) => {
      await renewUpkeep(tx, lease)
      await sql`
        insert into sync_sums (id, counted_at, sums) values (1, ${dbTime(tx)}, ${JSON.stringify(sums)})
        on conflict (id) do update set counted_at = excluded.counted_at, sums = excluded.sums`.execute(tx.sql)
    },
    { relaxedDurability: true },
  )
}

/** A row that somebody damaged says nothing. */
function parsed(text: string): Sums | null {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? (value as Sums) : null
  } catch {
    return null
  }
}
