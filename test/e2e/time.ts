import { type RawBuilder, sql } from 'kysely'
import { feeds } from '../../src/model/reads.ts'
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

export interface Unfinished {
  /** Makes only reads of these submissions due; default: all. */
  readonly submissionIds?: readonly string[]
  /** Whether a feed is finished only when it was read in full. */
  readonly full?: boolean
}

/**
 * Makes reads that didn't end since `sinceMs` due now, and lets deliveries and a stopped account retry. @returns whether anything had to wait;
 * otherwise nothing is written.
 */
export async function endBackoffs(db: Db, sinceMs: number, { submissionIds, full = false }: Unfinished = {}): Promise<boolean> {
  const at = (ms: number) => timeValue(db.read, timeFromMs(ms))
  const now = at(Date.now())
  const isBefore = (column: string) => sql<boolean>`(${sql.ref(column)} is null or ${sql.ref(column)} < ${at(sinceMs)})`
  const isFree = sql<boolean>`lease_token is null`
  const those = submissionIds ? sql<boolean>`submission_id in (${sql.join(['', ...submissionIds])})` : sql<boolean>`1 = 1`
  const isFullDue = sql<boolean>`${isFree} and ${those} and read in (${sql.join(feeds)}) and ${isBefore('last_full_read_at')}`
  const late = [
    ...(full ? [['sync_reads', 'full_read_due_at', isFullDue] as const, ['sync_reads', 'due_at', isFullDue] as const] : []),
    ['sync_reads', 'due_at', sql`${isFree} and ${those} and ${isBefore('last_read_at')}`] as const,
    ['sync_accounts', 'retry_at', sql`state <> 'active'`] as const,
    ['sync_inbox', 'available_at', sql`state = 'ready' and ${isFree}`] as const,
  ]
  const waits = late.map(([table, column, which]) => ({ table, column, which: sql`${which} and ${sql.ref(column)} > ${now}` }))
  const counts = waits.map(({ table, which }) => sql`(select count(*) from ${sql.table(table)} where ${which})`)
  if ((await db.read.count(sql<{ n: number }>`select ${sql.join(counts, sql` + `)} as n`)) === 0) return false
  await db.write('test-end-backoffs', async (tx) => {
    for (const { table, column, which } of waits)
      await tx.run(sql`update ${sql.table(table)} set ${sql.ref(column)} = ${now} where ${which}`)
  })
  return true
}

function earlier(kind: Db['kind'], column: string, ms: number): RawBuilder<unknown> {
  if (kind === 'postgres') return sql`${sql.ref(column)} - ${ms}::float8 * interval '1 millisecond'`
  return sql`strftime('%Y-%m-%dT%H:%M:%f000Z', ${sql.ref(column)}, ${`-${ms / 1000} seconds`})`
}
