import { type RawBuilder, sql } from 'kysely'
import type { TimeText } from '../../model/time.ts'
import type { Query } from '../engine/db.ts'
import { dbTime, greatest, unindexed } from '../engine/sql.ts'
import { rank } from '../reads/reads.ts'
import { listReadsOff } from '../reads/reads-off.ts'
import type { ReadsOffTable } from '../schema/reads.ts'

/** Figures about the reads of one account. */
export interface ReadsStatus {
  /** Known submissions. */
  readonly submissions: number
  /** Of these, the ones that the service no longer shows. */
  readonly unreachable: number
  /** Reads that are past due. */
  readonly overdue: number
  /** When the read due longest was due. */
  readonly oldestDueAt: TimeText | null
  /** Reads whose last attempt failed. */
  readonly failing: number
  /** Scheduled requests a second, without replays and further pages of long feeds. */
  readonly demandRps: number
}

/**
 * Figures of all accounts in one scan of every read. For people who ask, not for a timer. Account by account, through an index, it would take
 * ten times as long.
 */
export async function readsStatus(q: Query): Promise<(account: string) => ReadsStatus> {
  const off = (await listReadsOff(q)).map((one) => sql`(${one.account}, ${one.read})`)
  const isOn = off.length === 0 ? sql`` : sql`where (account, read) not in (values ${sql.join(off)})`
  const { rows } = await sql<{ account: string; overdue: number; oldest: TimeText | null; failing: number; demand: number | null }>`
    select ${unindexed(q, 'account')} as account, count(case when due_at <= ${dbTime(q)} and lease_token is null then 1 end) as overdue,
      min(case when due_at <= ${dbTime(q)} and lease_token is null then due_at end) as oldest,
      count(case when rank = ${sql.lit(rank.failing)} then 1 end) as failing,
      ${demand(q)} as demand
    from (
      select account, read, due_at, last_read_at, lease_token, rank from sync_reads
      union all
      select account, kind, due_at, last_read_at, lease_token, ${sql.lit(rank.background)} from sync_known_ids where due_at is not null) as reads ${isOn}
    group by 1`.execute(q.sql)
  const { rows: known } = await sql<{ account: string; total: number; unreachable: number }>`
    select account, count(*) as total, count(unreachable_since) as unreachable from submissions group by account`.execute(q.sql)
  const reads = new Map(rows.map((row) => [row.account, row]))
  const submissions = new Map(known.map((row) => [row.account, row]))
  return (account) => ({
    submissions: submissions.get(account)?.total ?? 0,
    unreachable: submissions.get(account)?.unreachable ?? 0,
    overdue: reads.get(account)?.overdue ?? 0,
    oldestDueAt: reads.get(account)?.oldest ?? null,
    failing: reads.get(account)?.failing ?? 0,
    demandRps: Number(reads.get(account)?.demand ?? 0),
  })
}

/** Each read comes once per interval between its last read and its due time, which is at least a second. */
function demand(q: Query): RawBuilder<number> {
  const seconds =
    q.kind === 'sqlite'
      ? sql`(julianday(due_at) - julianday(last_read_at)) * 86400.0`
      : sql`extract(epoch from due_at - last_read_at)::float8`
  return sql<number>`sum(case when last_read_at is not null then 1.0 / ${greatest(q, sql`1.0`, seconds)} end)`
}

/** A read that an account does not make. */
export type ReadOff = Omit<ReadsOffTable, 'account'>

/** @returns the reads that each account does not make, by account. */
export async function readsOffStatus(q: Query): Promise<(account: string) => ReadOff[]> {
  const rows = await listReadsOff(q)
  return (account) => rows.filter((row) => row.account === account).map(({ account: _, ...row }) => row)
}

/** Stored conflicts (invariant 4) and unreadable items of an account. */
export async function countEvidence(q: Query, account: string): Promise<{ readonly conflicts: number; readonly unreadable: number }> {
  const { rows } = await sql<{ conflicts: number; unreadable: number }>`
    select (select count(*) from sync_conflicts where account = ${account}) as conflicts,
      (select count(*) from sync_unreadable where account = ${account}) as unreadable`.execute(q.sql)
  return { conflicts: rows[0]?.conflicts ?? 0, unreadable: rows[0]?.unreadable ?? 0 }
}
