import { sql } from 'kysely'
import { idReads, type ReadKind, readKinds } from '../../model/reads.ts'
import type { TimeText } from '../../model/time.ts'
import type { Query } from '../engine/db.ts'
import { COUNT_CAP, countCapped } from '../engine/sql.ts'
import { oldestRead } from '../reads/account-reads.ts'
import { rank } from '../reads/reads.ts'

/** Limit of counts that one scrape of the metrics makes several times, such as once for each kind of read. */
export const SMALL_COUNT_CAP = 10_000

/** Number of rows, counted up to `COUNT_CAP`, and the time of the oldest row. */
export interface Pile {
  readonly count: number
  readonly oldest_at: TimeText | null
}

export interface InboxGauge extends Pile {
  readonly state: 'ready' | 'aside' | 'dead'
  /** Null for `ready`: ready deliveries are counted for all accounts together. */
  readonly account: string | null
}

/** Counts the deliveries in the inbox that are ready, aside, or dead. Every query uses an index. */
export async function inboxGauges(q: Query, accounts: readonly string[]): Promise<InboxGauge[]> {
  const gauges: InboxGauge[] = [await readyGauge(q)]
  for (const account of accounts) {
    for (const state of ['aside', 'dead'] as const) {
      const which = sql`sync_inbox where account = ${account} and state = ${sql.lit(state)}`
      const row = await q.one(sql<{ received_at: TimeText }>`
        select received_at from ${which} and state in ('aside', 'dead') order by inbox_id limit 1`)
      const count = row === null ? 0 : await countCapped(q, sql`${which} and state in ('aside', 'dead')`)
      gauges.push({ state, account, count, oldest_at: row?.received_at ?? null })
    }
  }
  return gauges
}

/**
 * Counts ready deliveries. The oldest delivery is the one with the lowest number, because claims and retries change
 * `available_at`. The inner query reads only an index.
 */
async function readyGauge(q: Query): Promise<InboxGauge> {
  const row = await q.one(sql<{ n: number; received_at: TimeText | null }>`
    select waiting.n, i.received_at from (
      select count(*) as n, min(inbox_id) as oldest from (
        select inbox_id from sync_inbox where state = 'ready' order by available_at, inbox_id limit ${sql.lit(COUNT_CAP)}) as ready) as waiting
    left join sync_inbox i on i.inbox_id = waiting.oldest`)
  return { state: 'ready', account: null, count: row?.n ?? 0, oldest_at: row?.received_at ?? null }
}

export const rankNames = ['live', 'routine', 'failing'] as const satisfies readonly (keyof typeof rank)[]
export type RankName = (typeof rankNames)[number]

/**
 * @returns for each rank of `rankNames` the earliest due time of a read; null if no read has the rank. A claimed read
 * counts with `due_since`, because its `due_at` is the end of its lease.
 */
export async function oldestDue(q: Query, account: string): Promise<Record<RankName, TimeText | null>> {
  // Use one statement, because this runs every few seconds.
  const due = rankNames.map((name) => {
    const first = (column: 'due_at' | 'due_since') => sql`select * from (
      select ${sql.ref(column)} as at from sync_reads where account = ${account} and rank = ${sql.lit(rank[name])} and ${sql.ref(column)} is not null
      order by ${sql.ref(column)} limit 1) as ${sql.ref(column)}`
    return sql`(select min(at) from (${first('due_at')} union all ${first('due_since')}) as both_times) as ${sql.ref(name)}`
  })
  const row = await q.one(sql<Record<RankName, TimeText | null>>`select ${sql.join(due)}`)
  return row ?? { live: null, routine: null, failing: null }
}

/**
 * For each kind of read, finds the oldest `last_read_at`, and counts the reads that never succeeded, up to
 * `SMALL_COUNT_CAP`.
 */
export async function freshnessGauges(q: Query, account: string) {
  const gauges: { readonly read: ReadKind; readonly oldestAt: TimeText | null; readonly never: number }[] = []
  for (const read of [...readKinds, ...idReads]) {
    const ofKind = sql`sync_reads where account = ${account} and read = ${sql.lit(read)} and due_at is not null`
    const never = await countCapped(q, sql`${ofKind} and last_read_at is null`, SMALL_COUNT_CAP)
    gauges.push({ read, oldestAt: await oldestRead(q, account, read), never })
  }
  return gauges
}

/**
 * Counts the failing discovery paths of an account, up to `SMALL_COUNT_CAP`.
 * @param templates the configured paths.
 */
export async function failingProbes(q: Query, account: string, templates: readonly string[]): Promise<number> {
  if (templates.length === 0) return 0
  const failing = sql`sync_path_reads where account = ${account} and failures > 0 and name in (${sql.join(templates)})`
  return await countCapped(q, failing, SMALL_COUNT_CAP)
}
