import { type RawBuilder, sql } from 'kysely'
import { timeFromMs } from '../../src/model/time.ts'
import type { Db } from '../../src/store/engine/db.ts'
import { timeValue } from '../../src/store/engine/sql.ts'

export interface Passing {
  /** Also ends leases, as after a dead process. */
  readonly leases?: boolean
  /** Ages only reads of these submissions, and leased ones. */
  readonly submissionIds?: readonly string[]
}

/** Ages everything in the store, and brings due times closer. */
export async function letTimePass(db: Db, ms: number, { leases = false, submissionIds }: Passing = {}): Promise<void> {
  const older = (columns: readonly string[]) => sql.join(columns.map((column) => sql`${sql.ref(column)} = ${earlier(db.kind, column, ms)}`))
  const those = submissionIds
    ? sql`(lease_token is not null or coalesce(named_for, submission_id) in (${sql.join(['', ...submissionIds])}))`
    : sql`1 = 1`
  const free = leases ? sql`1 = 1` : sql`lease_token is null`
  await db.write('test-pass', async (tx) => {
    const reads = ['due_at', 'full_read_due_at', 'last_full_read_at', 'last_read_at', 'last_changed_at', 'active_at']
    await tx.run(sql`update sync_reads set ${older(reads)} where ${free} and ${those}`)
    await tx.run(sql`update sync_accounts set ${older(['retry_at', 'swept_at', 'throttled_since', 'throttled_until'])}`)
    await tx.run(sql`update sync_arrivals set ${older(['first_at'])}`)
    await tx.run(sql`update sync_path_reads set ${older(['due_at'])} where ${free}`)
    await tx.run(sql`update sync_reads_off set ${older(['retry_at'])}`)
    await tx.run(sql`update sync_push_streams set ${older(['due_at'])} where ${free}`)
    await tx.run(sql`update sync_destinations set ${older(['retry_at'])}`)
    await tx.run(sql`update sync_log_epochs set ${older(['began_at'])}`)
    await tx.run(sql`update sync_restatements set ${older(['requested_at'])}`)
    await tx.run(sql`update sync_inbox set ${older(['available_at'])} where state = 'ready' and (${free} or attempts > 0)`)
  })
}

/** Ends leases, as after a killed server, without making anything else due. */
export async function endLeases(db: Db, ms: number): Promise<void> {
  const leased = ['sync_reads', 'sync_path_reads', 'sync_push_streams'].map((table) => [table, 'due_at'])
  await db.write('test-leases', async (tx) => {
    for (const [table = '', column = ''] of [...leased, ['sync_inbox', 'available_at']]) {
      const ended = sql`${sql.ref(column)} = ${earlier(db.kind, column, ms)}`
      await tx.run(sql`update ${sql.table(table)} set ${ended} where lease_token is not null`)
    }
  })
}

/**
 * Makes unfinished reads due now, of these submissions or all, and lets deliveries and a stopped account retry. @returns whether anything had to wait;
 * otherwise nothing is written.
 */
export async function endBackoffs(db: Db, sinceMs: number, submissionIds?: readonly string[]): Promise<boolean> {
  const at = (ms: number) => timeValue(db.read, timeFromMs(ms))
  const [now, since] = [Date.now(), at(sinceMs)]
  const waits = sql<boolean>`lease_token is null and due_at > ${at(now)} and (last_read_at is null or last_read_at < ${since})`
  const those = submissionIds ? sql<boolean>`submission_id in (${sql.join(['', ...submissionIds])})` : sql<boolean>`1 = 1`
  const late = [
    ['sync_reads', 'due_at', sql`${waits} and ${those}`],
    ['sync_accounts', 'retry_at', sql`state <> 'active' and retry_at > ${at(now)}`],
    ['sync_inbox', 'available_at', sql`state = 'ready' and lease_token is null and available_at > ${at(now)}`],
  ] as const
  const counts = late.map(([table, , which]) => sql`(select count(*) from ${sql.table(table)} where ${which})`)
  const row = await db.read.one(sql<{ n: number }>`select ${sql.join(counts, sql` + `)} as n`)
  if (Number(row?.n) === 0) return false
  await db.write('test-end-backoffs', async (tx) => {
    for (const [table, column, which] of late)
      await tx.run(sql`update ${sql.table(table)} set ${sql.ref(column)} = ${at(now)} where ${which}`)
  })
  return true
}

function earlier(kind: Db['kind'], column: string, ms: number): RawBuilder<unknown> {
  if (kind === 'postgres') return sql`${sql.ref(column)} - ${ms}::float8 * interval '1 millisecond'`
  return sql`strftime('%Y-%m-%dT%H:%M:%f000Z', ${sql.ref(column)}, ${`-${ms / 1000} seconds`})`
}
