import { type RawBuilder, sql } from 'kysely'
import { idReads, type ReadKind, readKinds } from '../../model/reads.ts'
import type { TimeText } from '../../model/time.ts'
import type { Query } from '../engine/db.ts'
import { COUNT_CAP } from '../engine/sql.ts'
import { oldestRead } from '../reads/account-reads.ts'
import { rank } from '../reads/reads.ts'

/** Cap for what is counted several times per scrape. */
export const SMALL_COUNT_CAP = 10_000

/** Counts the rows of `from` (the text after `from` in a select) up to `cap`. */
export async function countCapped(q: Query, from: RawBuilder<unknown>, cap = COUNT_CAP): Promise<number> {
  const { rows } = await sql<{ n: number }>`
    select count(*) as n from (select 1 as one from ${from} limit ${sql.lit(cap)}) as capped`.execute(q.sql)
  return rows[0]?.n ?? 0
}

/** Deliveries in one state: their number, and when the oldest arrived. */
export interface InboxGauge {
  readonly state: 'ready' | 'aside' | 'dead'
  /** null for `ready`: one queue serves all accounts. */
  readonly account: string | null
  readonly count: number
  readonly oldestAt: TimeText | null
}

/** The backlog of the inbox. Every query uses an index; done deliveries cost nothing. */
export async function inboxGauges(q: Query, accounts: readonly string[]): Promise<InboxGauge[]> {
  const gauges: InboxGauge[] = [await readyGauge(q)]
  for (const account of accounts) {
    for (const state of ['aside', 'dead'] as const) {
      const which = sql`sync_inbox where account = ${account} and state = ${sql.lit(state)}`
      const { rows } = await sql<{ received_at: TimeText }>`
        select received_at from ${which} and state in ('aside', 'dead') order by inbox_id limit 1`.execute(q.sql)
      const oldestAt = rows[0]?.received_at ?? null
      gauges.push({
        state,
        account,
        count: oldestAt === null ? 0 : await countCapped(q, sql`${which} and state in ('aside', 'dead')`),
        oldestAt,
      })
    }
  }
  return gauges
}

/**
 * Deliveries that wait. The oldest is the one received first: claims and retries move `available_at`, so that its age would start again while
 * nothing is applied. The index of waiting deliveries holds all columns of the inner query.
 */
async function readyGauge(q: Query): Promise<InboxGauge> {
  const { rows } = await sql<{ n: number; received_at: TimeText | null }>`
    select waiting.n, i.received_at from (
      select count(*) as n, min(inbox_id) as oldest from (
        select inbox_id from sync_inbox where state = 'ready' order by available_at, inbox_id limit ${sql.lit(COUNT_CAP)}) as ready) as waiting
    left join sync_inbox i on i.inbox_id = waiting.oldest`.execute(q.sql)
  return { state: 'ready', account: null, count: rows[0]?.n ?? 0, oldestAt: rows[0]?.received_at ?? null }
}

/** Names of the ranks of reads; see `rank`. */
export const rankNames = ['live', 'routine', 'failing'] as const satisfies readonly (keyof typeof rank)[]
export type RankName = (typeof rankNames)[number]

/**
 * When the read of each rank that is due longest was or will be due; null when there is none. A claimed read counts from when it was due, or
 * from its last page: `due_at` is then the end of the lease.
 */
export async function oldestDue(q: Query, account: string): Promise<Record<RankName, TimeText | null>> {
  // In one statement: it is asked every few seconds.
  const due = rankNames.map((name) => {
    const first = (column: 'due_at' | 'due_since') => sql`select * from (
      select ${sql.ref(column)} as at from sync_reads where account = ${account} and rank = ${sql.lit(rank[name])} and ${sql.ref(column)} is not null
      order by ${sql.ref(column)} limit 1) as ${sql.ref(column)}`
    return sql`(select min(at) from (${first('due_at')} union all ${first('due_since')}) as both_times) as ${sql.ref(name)}`
  })
  const { rows } = await sql<Record<RankName, TimeText | null>>`select ${sql.join(due)}`.execute(q.sql)
  return rows[0] ?? { live: null, routine: null, failing: null }
}

/**
 * Freshness of each kind of read over all submissions of an account: the oldest last read of one, null when none was read; and how many
 * submissions, or ids, were never read to the end, counted up to `SMALL_COUNT_CAP`.
 */
export async function freshnessGauges(q: Query, account: string) {
  const gauges: { readonly read: ReadKind; readonly oldestAt: TimeText | null; readonly never: number }[] = []
  for (const read of readKinds) {
    const never = await countCapped(
      q,
      sql`sync_reads where account = ${account} and read = ${sql.lit(read)} and last_read_at is null`,
      SMALL_COUNT_CAP,
    )
    gauges.push({ read, oldestAt: await oldestRead(q, account, read), never })
  }
  for (const read of idReads) {
    const ofKind = sql`sync_known_ids where account = ${account} and kind = ${sql.lit(read)} and due_at is not null`
    const { rows } = await sql<{ at: TimeText }>`
      select last_read_at as at from ${ofKind} and last_read_at is not null order by last_read_at limit 1`.execute(q.sql)
    const never = await countCapped(q, sql`${ofKind} and last_read_at is null`, SMALL_COUNT_CAP)
    gauges.push({ read, oldestAt: rows[0]?.at ?? null, never })
  }
  return gauges
}

/**
 * Paths of an account whose probes fail, counted up to `SMALL_COUNT_CAP`.
 * @param templates those of the settings; others are no longer probed.
 */
export async function failingProbes(q: Query, account: string, templates: readonly string[]): Promise<number> {
  if (templates.length === 0) return 0
  const failing = sql`sync_path_reads where account = ${account} and failures > 0 and name in (${sql.join(templates)})`
  return await countCapped(q, failing, SMALL_COUNT_CAP)
}

/** The ends of the change log. */
export async function changeLogEnds(q: Query): Promise<{ readonly firstSeq: number; readonly lastSeq: number }> {
  const row = await q.sql.selectFrom('mirror_info').select(['first_seq', 'last_seq']).where('id', '=', 1).executeTakeFirst()
  return { firstSeq: row?.first_seq ?? 1, lastSeq: row?.last_seq ?? 0 }
}
