import { type RawBuilder, sql } from 'kysely'
import type { TimeText } from '../../model/time.ts'
import { logEnds } from '../changes/log-info.ts'
import type { Db, Query, Tx } from '../engine/db.ts'
import { moveProgress, readProgress } from './progress.ts'

const STEP = 1_000
const MARK = 'arrival_counts_mark'
/** Account under which the progress is stored: `''`, because all accounts share one change log. */
const ALL = ''
const ways = ['webhook', 'poll', 'backfill', 'reconcile'] as const
type Way = (typeof ways)[number]
type Count = Way | 'lost'

export interface HourCount {
  readonly account: string
  readonly entity: string
  readonly hour: TimeText
  readonly n: number
}

/**
 * Counts new events and messages in the change log, by hour. Each call reads the next `STEP` changes.
 * If several processes try the same step, only one of the processes counts the changes.
 * @returns true if uncounted changes may remain.
 */
export async function countArrivals(db: Db): Promise<boolean> {
  const mark = await readProgress(db.read, ALL, MARK)
  const ends = await logEnds(db.read)
  if (ends.last_seq <= mark) return false
  const from = Math.max(mark, ends.first_seq - 1)
  const to = Math.min(from + STEP, ends.last_seq)
  return db.write('arrival-counts', async (tx) => {
    if (!(await moveProgress(tx, ALL, MARK, mark, to))) return false
    for (const { cause, ...count } of await arrivalsBetween(tx, from, to)) await addCount(tx, count, wayOf(cause))
    return to < ends.last_seq
  })
}

/**
 * Counts an account's events and messages that `countArrivals` hasn't counted yet. @param mark value of `arrivalsMark`.
 */
export async function uncountedArrivals(q: Query, account: string, mark: number): Promise<Readonly<Record<Way, number>>> {
  const sums = { webhook: 0, poll: 0, backfill: 0, reconcile: 0 }
  const ends = await logEnds(q)
  if (ends.last_seq <= mark) return sums
  for (const each of await arrivalsBetween(q, mark, ends.last_seq)) if (each.account === account) sums[wayOf(each.cause)] += each.n
  return sums
}

/** SQL for the number of the last change that `countArrivals` has counted. */
export const arrivalsMark = sql<number>`(
  select coalesce(max(value), 0) from sync_counters where account = ${ALL} and name = ${MARK} and label = '')`

export async function addCount(tx: Tx, { account, entity, hour, n }: HourCount, what: Count): Promise<void> {
  const of = (count: Count) => (count === what ? n : 0)
  await tx.sql
    .insertInto('arrival_counts')
    .values({
      account,
      entity,
      hour,
      webhook: of('webhook'),
      poll: of('poll'),
      backfill: of('backfill'),
      reconcile: of('reconcile'),
      lost: of('lost'),
    })
    .onConflict((conflict) =>
      conflict.columns(['account', 'hour', 'entity']).doUpdateSet({ [what]: sql`arrival_counts.${sql.ref(what)} + ${sql.lit(n)}` }),
    )
    .execute()
}

export function hourOf(q: Pick<Query, 'kind'>, column: string): RawBuilder<TimeText> {
  const time = sql.ref(column)
  return q.kind === 'sqlite' ? sql<TimeText>`substr(${time}, 1, 13) || ':00:00.000000Z'` : sql<TimeText>`date_trunc('hour', ${time}, 'UTC')`
}

/** A cause that isn't in `ways`, such as `sync`, counts as `poll`. */
function wayOf(cause: string): Way {
  return ways.find((way) => way === cause) ?? 'poll'
}

async function arrivalsBetween(q: Query, after: number, upTo: number): Promise<(HourCount & { readonly cause: string })[]> {
  return await q.all(sql<HourCount & { cause: string }>`
    select account, entity, cause, hour, count(*) as n from (
      select account, entity, cause, ${hourOf(q, 'changed_at')} as hour from changes
      where seq > ${after} and seq <= ${upTo} and operation = 'insert' and entity in ('market_events', 'thread_messages')) as arrived
    group by account, entity, cause, hour order by account, hour, entity`)
}
