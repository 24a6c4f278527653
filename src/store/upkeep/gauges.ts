import { type RawBuilder, sql } from 'kysely'
import { type ReadKind, readKinds } from '../../model/reads.ts'
import type { TimeText } from '../../model/time.ts'
import type { Query } from '../engine/db.ts'
import { oldestOrNewestRead } from '../reads/account-reads.ts'
import { rank } from '../reads/reads.ts'

/** Counting stops here: a gauge at this value says "so many or more". */
export const COUNT_CAP = 100_000
/** For what is counted several times at each scrape. */
export const SMALL_COUNT_CAP = 10_000

/** The rows that `from` (everything after `from` of a select) gives, counted no further than `cap`. */
export async function countCapped(q: Query, from: RawBuilder<unknown>, cap = COUNT_CAP): Promise<number> {
  const { rows } = await sql<{ n: number }>`
    select count(*) as n from (select 1 as one from ${from} limit ${sql.lit(cap)}) as capped`.execute(q.sql)
  return rows[0]?.n ?? 0
}

/** Deliveries of one state: how many, and when the oldest of them came. */
export interface InboxGauge {
  readonly state: 'ready' | 'aside' | 'dead'
  /** null for `ready`, which is one queue for all accounts. */
  readonly account: string | null
  readonly count: number
  readonly oldestAt: TimeText | null
}

/** What waits in the inbox. Every query ends at an index; nothing here costs more with what is done already. */
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

/** The delivery that has been due the longest stands for the oldest: both queues have the same head unless work is being retried. */
async function readyGauge(q: Query): Promise<InboxGauge> {
  const { rows } = await sql<{ received_at: TimeText }>`
    select received_at from sync_inbox where state = 'ready' order by available_at, inbox_id limit 1`.execute(q.sql)
  const oldestAt = rows[0]?.received_at ?? null
  return {
    state: 'ready',
    account: null,
    count: oldestAt === null ? 0 : await countCapped(q, sql`sync_inbox where state = 'ready'`),
    oldestAt,
  }
}

/** The names of the ranks of reads, see `rank`. */
export const rankNames = ['live', 'routine', 'failing'] as const satisfies readonly (keyof typeof rank)[]
export type RankName = (typeof rankNames)[number]

/** When the read of each rank that is due the longest was (or will be) due; null when there is none. */
export async function oldestDue(q: Query, account: string): Promise<Record<RankName, TimeText | null>> {
  const due: Record<RankName, TimeText | null> = { live: null, routine: null, failing: null }
  for (const name of rankNames) {
    const row = await q.sql
      .selectFrom('sync_reads')
      .select('due_at')
      .where('account', '=', account)
      .where('rank', '=', rank[name])
      .orderBy('due_at')
      .limit(1)
      .executeTakeFirst()
    due[name] = row?.due_at ?? null
  }
  return due
}

/** How fresh one kind of read is over all submissions of an account. */
export interface FreshnessGauge {
  readonly read: ReadKind
  /** When the submission that was not read for the longest was read; null when none was read at all. */
  readonly oldestAt: TimeText | null
  /** Submissions that were never read to the end, counted no further than `SMALL_COUNT_CAP`. */
  readonly never: number
}

export async function freshnessGauges(q: Query, account: string): Promise<FreshnessGauge[]> {
  const gauges: FreshnessGauge[] = []
  for (const read of readKinds) {
    const never = await countCapped(
      q,
      sql`sync_reads where account = ${account} and read = ${sql.lit(read)} and last_read_at is null`,
      SMALL_COUNT_CAP,
    )
    gauges.push({ read, oldestAt: await oldestOrNewestRead(q, account, read, 'asc'), never })
  }
  return gauges
}

/**
 * Paths of an account whose probing fails, counted no further than `SMALL_COUNT_CAP`.
 * @param templates those of the settings: what was taken out of them is not probed any more.
 */
export async function failingProbes(q: Query, account: string, templates: readonly string[]): Promise<number> {
  if (templates.length === 0) return 0
  const failing = sql`sync_discovery where account = ${account} and failures > 0 and template in (${sql.join(templates)})`
  return await countCapped(q, failing, SMALL_COUNT_CAP)
}

/** The ends of the change log. */
export async function changeLogEnds(q: Query): Promise<{ readonly firstSeq: number; readonly lastSeq: number }> {
  const row = await q.sql.selectFrom('mirror_info').select(['first_seq', 'last_seq']).where('id', '=', 1).executeTakeFirst()
  return { firstSeq: row?.first_seq ?? 1, lastSeq: row?.last_seq ?? 0 }
}
