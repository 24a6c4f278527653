import { type RawBuilder, sql } from 'kysely'
import { timeFromMs } from '../../src/model/time.ts'
import type { Db } from '../../src/store/engine/db.ts'
import { timeValue } from '../../src/store/engine/sql.ts'

export interface Passing {
  /** Leases run on too, as those of a dead process do; otherwise what is being made keeps its lease. */
  readonly leases?: boolean
  /** Of the reads only those of these submissions grow older, and those that are leased. */
  readonly submissionIds?: readonly string[]
}

/** Lets time pass in the store: everything in it becomes so much older, and what was to come is so much nearer. */
export async function letTimePass(db: Db, ms: number, { leases = false, submissionIds }: Passing = {}): Promise<void> {
  const older = (columns: readonly string[]) => sql.join(columns.map((column) => sql`${sql.ref(column)} = ${earlier(db.kind, column, ms)}`))
  const those = submissionIds ? sql`(lease_token is not null or submission_id in (${sql.join(['', ...submissionIds])}))` : sql`1 = 1`
  const free = leases ? sql`1 = 1` : sql`lease_token is null`
  await db.write('test-pass', async (tx) => {
    const reads = ['due_at', 'replay_due_at', 'last_replay_at', 'last_read_at', 'last_changed_at', 'active_at']
    await sql`update sync_reads set ${older(reads)} where ${free} and ${those}`.execute(tx.sql)
    await sql`update sync_accounts set ${older(['retry_at', 'swept_at'])}`.execute(tx.sql)
    await sql`update sync_arrivals set ${older(['first_at'])}`.execute(tx.sql)
    await sql`update sync_discovery set ${older(['due_at'])} where ${free}`.execute(tx.sql)
    await sql`update sync_known_ids set ${older(['due_at', 'last_read_at'])} where ${free} and ${those}`.execute(tx.sql)
    await sql`update sync_reads_off set ${older(['retry_at'])}`.execute(tx.sql)
    await sql`update sync_push_lanes set ${older(['due_at'])} where ${free}`.execute(tx.sql)
    await sql`update sync_destinations set ${older(['retry_at'])}`.execute(tx.sql)
    await sql`update sync_inbox set ${older(['available_at'])} where state = 'ready' and (${free} or attempts > 0)`.execute(tx.sql)
  })
}

/** Makes due now what was not read to its end since, of these submissions or of all, and lets a stopped account try again. */
export async function endBackoffs(db: Db, sinceMs: number, submissionIds?: readonly string[]): Promise<void> {
  const now = Date.now()
  await db.write('test-end-backoffs', async (tx) => {
    await tx.sql
      .updateTable('sync_reads')
      .set({ due_at: timeFromMs(now) })
      .$if(submissionIds !== undefined, (query) => query.where('submission_id', 'in', ['', ...(submissionIds ?? [])]))
      .where('lease_token', 'is', null)
      .where('due_at', '>', timeValue(tx, timeFromMs(now)) as never)
      .where((eb) => eb.or([eb('last_read_at', 'is', null), eb('last_read_at', '<', timeValue(tx, timeFromMs(sinceMs)) as never)]))
      .execute()
    await tx.sql
      .updateTable('sync_known_ids')
      .set({ due_at: timeFromMs(now) })
      .where('lease_token', 'is', null)
      .where('due_at', '>', timeValue(tx, timeFromMs(now)) as never)
      .where((eb) => eb.or([eb('last_read_at', 'is', null), eb('last_read_at', '<', timeValue(tx, timeFromMs(sinceMs)) as never)]))
      .execute()
    await tx.sql
      .updateTable('sync_accounts')
      .set({ retry_at: timeFromMs(now) })
      .where('state', '<>', 'active')
      .execute()
  })
}

function earlier(kind: Db['kind'], column: string, ms: number): RawBuilder<unknown> {
  if (kind === 'postgres') return sql`${sql.ref(column)} - ${ms}::float8 * interval '1 millisecond'`
  return sql`strftime('%Y-%m-%dT%H:%M:%f000Z', ${sql.ref(column)}, ${`-${ms / 1000} seconds`})`
}
