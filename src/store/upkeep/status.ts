import { type RawBuilder, sql } from 'kysely'
import type { TimeText } from '../../model/time.ts'
import type { Query } from '../engine/db.ts'
import { dbTime, greatest, unindexed } from '../engine/sql.ts'
import { rank } from '../reads/reads.ts'
import { listReadsOff } from '../reads/reads-off.ts'

/**
 * Counts the reads of all accounts in one scan of the table. Scanning each account by an index would take ten times as
 * long. Call this for reports, not from a timer.
 * @returns a function that returns the counts of one account.
 */
export async function readsStatus(q: Query) {
  const off = (await listReadsOff(q)).map((one) => sql`(${one.account}, ${one.read})`)
  const isOn = off.length === 0 ? sql`` : sql`where (account, read) not in (values ${sql.join(off)})`
  const rows = await q.all(sql<{
    account: string
    overdue: number
    oldest_due_at: TimeText | null
    failing: number
    demand: number | null
  }>`
    select ${unindexed(q, 'account')} as account, count(case when since <= ${dbTime(q)} then 1 end) as overdue,
      min(case when since <= ${dbTime(q)} then since end) as oldest_due_at,
      count(case when rank = ${sql.lit(rank.failing)} then 1 end) as failing,
      ${demand(q)} as demand
    from (
      select account, read, coalesce(due_since, due_at) as since, due_at, last_read_at, rank from sync_reads where due_at is not null) as reads ${isOn}
    group by 1`)
  const known = await q.all(sql<{ account: string; submissions: number; unreachable: number }>`
    select account, count(*) as submissions, count(unreachable_since) as unreachable from submissions group by account`)
  return (account: string) => {
    const of = (row: { account: string }) => row.account === account
    // `demand_rps`: requests per second, without full re-reads and without further pages of feeds.
    const { overdue = 0, oldest_due_at = null, failing = 0, demand: rps = null } = rows.find(of) ?? {}
    const { submissions = 0, unreachable = 0 } = known.find(of) ?? {}
    return { submissions, unreachable, reads: { overdue, oldest_due_at, failing }, demand_rps: Math.round(Number(rps) * 1_000) / 1_000 }
  }
}

/**
 * SQL for the requests per second that the schedule needs. Each row counts as one request in the interval from
 * `last_read_at` to `due_at`. The interval counts as at least 1 s. Rows that were never read don't count.
 */
function demand(q: Query): RawBuilder<number> {
  const seconds =
    q.kind === 'sqlite'
      ? sql`(julianday(due_at) - julianday(last_read_at)) * 86400.0`
      : sql`extract(epoch from due_at - last_read_at)::float8`
  return sql<number>`sum(case when last_read_at is not null then 1.0 / ${greatest(q, sql`1.0`, seconds)} end)`
}

/** @returns a function that lists the kinds of reads that are off in one account. */
export async function readsOffStatus(q: Query) {
  const rows = await listReadsOff(q)
  return (account: string) => rows.filter((row) => row.account === account).map(({ account: _, ...row }) => row)
}
