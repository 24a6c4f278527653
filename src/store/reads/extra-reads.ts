import { type RawBuilder, sql } from 'kysely'
import { storableJsonText, storableText } from '../../model/json.ts'
import type { TimeText } from '../../model/time.ts'
import type { Db, Query, TableSpec, Tx } from '../engine/db.ts'
import { Leased, newLeaseToken } from '../engine/leased.ts'
import { dbTime, skipLocked } from '../engine/sql.ts'

const schedule: TableSpec = {
  table: 'sync_extra_reads',
  key: ['account', 'submission_id', 'name'],
  columns: { account: 'text', submission_id: 'text', name: 'text', due_at: 'time', failures: 'int' },
}

/** An extra read that this process may make until its lease ends. */
export interface ExtraClaim {
  readonly account: string
  /** Empty when the path has none. */
  readonly submissionId: string
  readonly name: string
  readonly leaseToken: string
  readonly failures: number
}

export const claimedExtraReads = new Leased<ExtraClaim>({
  table: 'sync_extra_reads',
  what: 'extra read',
  key: { account: ({ account }) => account, submission_id: ({ submissionId }) => submissionId, name: ({ name }) => name },
})

/** Schedules reads of submissions that exist, due at once; known ones stay as they are. @param submissionIds `''`: of no submission. */
export async function scheduleExtraReads(
  db: Db,
  account: string,
  names: readonly string[],
  submissionIds: readonly string[],
  now: TimeText,
): Promise<void> {
  const rows = submissionIds.flatMap((submission_id) => names.map((name) => ({ account, submission_id, name, due_at: now, failures: 0 })))
  if (rows.length > 0) await db.write('extra-schedule', (tx) => tx.insertMany(schedule, rows, { ignore: true }))
}

/**
 * Schedules the reads of submissions that have none yet, due at once, a step at a time.
 * @param after the last submission of the previous step; '' to begin.
 * @returns the last submission of this step; null when there are no more.
 */
export async function addSubmissionReads(
  db: Db,
  account: string,
  names: readonly string[],
  after: string,
  limit: number,
): Promise<string | null> {
  const { rows } = await sql<{ submission_id: string; known: number }>`
    select submission_id, (select count(*) from sync_extra_reads e where e.account = s.account and e.submission_id = s.submission_id
      and e.name in (${sql.join(names)})) as known
    from submissions s where account = ${account} and submission_id > ${after} order by submission_id limit ${sql.lit(limit)}`.execute(
    db.read.sql,
  )
  const fresh = rows.filter(({ known }) => Number(known) < names.length).map(({ submission_id }) => submission_id)
  if (fresh.length > 0) {
    await db.write('extra-schedule', async (tx) => {
      // Read again: a submission may have been purged meanwhile.
      const there = await tx.sql
        .selectFrom('submissions')
        .select('submission_id')
        .where('account', '=', account)
        .where('submission_id', 'in', fresh)
        .execute()
      const { now } = await tx.sql.selectNoFrom(dbTime(tx).as('now')).executeTakeFirstOrThrow()
      const added = there.flatMap(({ submission_id }) => names.map((name) => ({ account, submission_id, name, due_at: now, failures: 0 })))
      await tx.insertMany(schedule, added, { ignore: true })
    })
  }
  return rows.length < limit ? null : (rows.at(-1)?.submission_id ?? null)
}

/** Claims the read that has been due longest; null when none is. @param submissionIds those of these submissions, due or not. */
export async function claimExtraRead(
  db: Db,
  account: string,
  names: readonly string[],
  leaseMs: number,
  submissionIds?: readonly string[],
): Promise<ExtraClaim | null> {
  const which = (q: Query) =>
    submissionIds === undefined
      ? sql`due_at <= ${dbTime(q)}`
      : sql`submission_id in (${sql.join(submissionIds)}) and (lease_token is null or due_at <= ${dbTime(q)})`
  // The first of each name, so that each goes by the index.
  const first = (
    q: Query,
    name: string,
    lock: RawBuilder<unknown>,
  ) => sql`select * from (select account, submission_id, name, due_at from sync_extra_reads
    where account = ${account} and name = ${name} and ${which(q)} order by due_at limit 1 ${lock}) as one`
  const due = (q: Query, lock: RawBuilder<unknown> = sql``) =>
    sql.join(
      names.map((name) => first(q, name, lock)),
      sql` union all `,
    )
  const { rows: some } = await sql`select 1 from (${due(db.read)}) as due limit 1`.execute(db.read.sql)
  if (some.length === 0) return null
  const leaseToken = newLeaseToken(db)
  return await db.write('extra-claim', async (tx) => {
    const selection = sql`select account, submission_id, name from (${due(tx, skipLocked(tx))}) as each_name order by due_at limit 1`
    const rows = await claimedExtraReads.claim<{ submission_id: string; name: string; failures: number }>(tx, leaseToken, selection, {
      leaseMs,
      returning: sql`failures`,
    })
    const [row] = rows
    return row ? { account, submissionId: row.submission_id, name: row.name, leaseToken, failures: Number(row.failures) } : null
  })
}

/**
 * Keeps an answer and ends its claim, in the transaction that learned its ids. An answer that is the same as before only moves its time.
 * @throws LeaseLostError when another process has taken it over, or the submission was purged.
 */
export async function keepExtraAnswer(tx: Tx, claim: ExtraClaim, text: string, everyMs: number): Promise<void> {
  await settle(tx, claim, sql`failures = 0, error = null, last_read_at = ${dbTime(tx)}`, everyMs)
  const { account, submissionId, name } = claim
  const at = { account, table: 'extra_reads', key: JSON.stringify([submissionId, name]), column: 'raw' }
  const raw = tx.protection.text(storableJsonText(text), at)
  await sql`
    insert into extra_reads (account, submission_id, name, read_at, raw) values (${account}, ${submissionId}, ${name}, ${dbTime(tx)}, ${raw})
    on conflict (account, submission_id, name) do update set read_at = excluded.read_at, raw = excluded.raw`.execute(tx.sql)
}

/** Ends a claim whose read failed. @throws LeaseLostError when another process has taken it over. */
export async function failExtraRead(tx: Tx, claim: ExtraClaim, error: string, failures: number, dueInMs: number): Promise<void> {
  await settle(tx, claim, sql`failures = ${failures}, error = ${storableText(error)}`, dueInMs)
}

/** Releases a claim unchanged, due at once. */
export async function releaseExtraRead(db: Db, claim: ExtraClaim): Promise<void> {
  await db.write('extra-settle', (tx) => claimedExtraReads.release(tx, claim))
}

async function settle(tx: Tx, claim: ExtraClaim, set: RawBuilder<unknown>, dueInMs: number): Promise<void> {
  await claimedExtraReads.settle(tx, claim, sql`due_at = ${dbTime(tx, dueInMs)}, ${set}`)
}
