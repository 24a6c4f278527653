import { sql } from 'kysely'
import { msFromTime } from '../../model/time.ts'
import type { Db, Tx } from '../engine/db.ts'
import { updateInPages } from '../engine/pages.ts'
import { databaseNowMs, dbTime, greatest, least, timePlus } from '../engine/sql.ts'

/** The task in `sync_upkeep` whose `began_at` stores the database's time. */
const TASK = 'clock'
/**
 * A lease that ends within this many ms stays unchanged, because it may have begun after the clock was set back. A
 * longer lease is shortened, but not below this.
 */
const KEPT_LEASE_MS = 900_000

/** Columns of one table whose times delay work. */
interface WaitingTimes {
  readonly table: string
  /** Column with the time when a row may be claimed. While a row is claimed, this is the end of the lease. */
  readonly due?: string
  readonly others?: readonly string[]
  /** Key of a large table, which is updated page by page. */
  readonly key?: readonly [string, ...string[]]
  /** Condition of a partial index on the rows that wait. */
  readonly where?: string
}

/**
 * All columns with a time before which work doesn't start. A test compares this list with the columns of both
 * databases.
 */
export const waitingTimes: readonly WaitingTimes[] = [
  { table: 'sync_inbox', due: 'available_at', where: "state = 'ready'" },
  { table: 'sync_reads', due: 'due_at', others: ['full_read_due_at', 'active_at'], key: ['account', 'submission_id', 'id', 'read'] },
  { table: 'sync_documents', due: 'due_at', others: ['failing_since'], key: ['account', 'document_key'] },
  { table: 'sync_path_reads', due: 'due_at', key: ['account', 'submission_id', 'name', 'path'] },
  { table: 'sync_push_streams', due: 'due_at', key: ['destination', 'account', 'stream'] },
  { table: 'sync_push_tokens', due: 'lease_until' },
  { table: 'sync_alert_messages', due: 'due_at', others: ['settled_at'] },
  { table: 'sync_upkeep', due: 'lease_until' },
  { table: 'sync_alarm_watch', due: 'lease_until' },
  { table: 'sync_reconcile', due: 'lease_until', others: ['since'] },
  { table: 'sync_destinations', others: ['retry_at'] },
  { table: 'sync_accounts', others: ['retry_at', 'swept_at', 'throttled_until'] },
  { table: 'sync_reads_off', others: ['retry_at'] },
  { table: 'alarms', others: ['since', 'last_at'] },
  { table: 'reconcile_runs', others: ['slot', 'ended_at'] },
  { table: 'sync_reconciled', others: ['reconciled_at'], key: ['account', 'submission_id'] },
  { table: 'sync_processes', others: ['seen_at'] },
]

/** @returns how many ms the database's clock is behind the last stored time; 0 if it isn't behind. */
export async function clockSetBackMs({ read: q }: Db): Promise<number> {
  const last = await q.sql.selectFrom('sync_upkeep').select('began_at').where('task', '=', TASK).executeTakeFirst()
  return last?.began_at == null ? 0 : Math.max(0, msFromTime(last.began_at) - (await databaseNowMs(q)))
}

/** Stores the database's time, for `clockSetBackMs`. */
export async function recordClock(db: Db): Promise<void> {
  const record = (tx: Tx) =>
    tx.run(sql`
    insert into sync_upkeep (task, position, began_at) values (${TASK}, 0, ${dbTime(tx)})
    on conflict (task) do update set began_at = excluded.began_at`)
  await db.write('clock', record, { singleStatement: true, relaxedDurability: true })
}

/**
 * Moves times in the future back by `backMs`. Call this after the database's clock was set back; otherwise all work
 * would wait for these times. If a time is moved twice, the only effect is that work is due sooner.
 * @returns the number of changed rows, by table.
 */
export async function moveTimesBack(db: Db, backMs: number, signal: AbortSignal): Promise<Record<string, number>> {
  const changed: Record<string, number> = {}
  for (const { table, key, due, others = [], where = '1 = 1' } of waitingTimes) {
    const change = (q: Pick<Db, 'kind' | 'clock'>) => {
      const now = dbTime(q)
      const isAhead = (column: string) => sql`${sql.ref(column)} > ${now}`
      const moved = (column: string) => {
        const time = sql.ref(column)
        const earlier = timePlus(q, time, -backMs)
        if (column !== due) return earlier
        return sql`case when lease_token is null then ${earlier} else ${least(q, time, greatest(q, earlier, dbTime(q, KEPT_LEASE_MS)))} end`
      }
      const columns = due === undefined ? others : [due, ...others]
      const set = columns.map(
        (column) => sql`${sql.ref(column)} = case when ${isAhead(column)} then ${moved(column)} else ${sql.ref(column)} end`,
      )
      return { where: sql`${sql.raw(where)} and (${sql.join(columns.map(isAhead), sql` or `)})`, set: sql.join(set) }
    }
    const rows = await updateInPages(db, 'clock-set-back', { table, ...(key && { key }), change }, signal)
    if (rows > 0) changed[table] = rows
  }
  return changed
}
