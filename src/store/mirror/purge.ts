import { type RawBuilder, sql } from 'kysely'
import type { Change } from '../../model/change.ts'
import { documents } from '../../model/entities/documents.ts'
import { submissions } from '../../model/entities/submissions.ts'
import { entities } from '../../model/entities.ts'
import type { Entity, Row } from '../../model/entity.ts'
import { appendChanges } from '../changes/change-log.ts'
import type { Db, Query, Tx } from '../engine/db.ts'
import { dbTime, rowLock, timeValue } from '../engine/sql.ts'
import { lockUnknown } from '../reads/purged.ts'
import type { Columns } from '../schema/tables.ts'

export interface Purged {
  readonly account: string
  readonly submissionId: string
}

/** Rows to delete or empty per transaction. With few rows, a running `serve` doesn't wait long for the transaction. */
const STEP = 100
/** Rejected deliveries to read per step. Each body may have 1 MiB. */
const REJECTED_STEP = 10
/** Change-log rows to read per step. */
const LOOKED = 2_000

/** Tables whose rows of the submission are deleted when a purge begins. `purgeRows` later deletes the service data. */
const OWN = [
  ...['sync_reads', 'sync_arrivals', 'sync_conflicts', 'sync_unreadable', 'sync_reconciled', 'reconcile_findings', 'sync_shared_documents'],
  ...['sync_path_reads', 'extra_reads', 'sync_search_words', 'sync_record_counts', 'sync_push_verifications', 'sync_restatements'],
]

/** Tables of service data with rows of submissions. Child tables come first. */
const ofSubmissions: readonly Entity[] = entities.filter((entity) => entity.table !== submissions.table).toReversed()

/**
 * Begins a purge, or continues an unfinished purge. From now on, the submission isn't tracked or mirrored.
 * @param ifBegun true: continues an unfinished purge, but doesn't begin a purge. Pass true for an interrupted purge,
 * because the submission may have been tracked again after the interruption.
 * @returns false if `ifBegun` is true and the submission has no unfinished purge.
 */
export function beginPurge(db: Db, of: Purged, ifBegun = false): Promise<boolean> {
  return db.write('purge', async (tx) => {
    const { account, submissionId: submission_id } = of
    if (ifBegun && !(await isBegun(tx, of))) return false
    await tx.run(sql`select 1 from submissions where ${isOf(of)} ${rowLock(tx, 'for update')}`)
    await lockUnknown(tx, false)
    const mark = sql`insert into sync_purged (account, submission_id, purged_at, finished_at) values (${account}, ${submission_id}, ${dbTime(tx)}, null)`
    await tx.run(sql`${mark} on conflict (account, submission_id) do update set finished_at = null`)
    const removed = await tx.run(sql`delete from submissions where ${isOf(of)}`)
    for (const table of OWN) await tx.run(sql`delete from ${sql.table(table)} where ${isOf(of)}`)
    await tx.run(sql`delete from sync_reads where account = ${account} and named_for = ${submission_id}`)
    if (removed > 0) await appendChanges(tx, [changeOf(of, submissions, [submission_id])])
    return true
  })
}

async function isBegun(tx: Tx, of: Purged): Promise<boolean> {
  return (await tx.one(sql`select 1 from sync_purged where ${isOf(of)} and finished_at is null`)) !== null
}

/**
 * Deletes the next rows of a submission from one table of service data, and adds each deletion to the change log.
 * @returns the number of deleted rows; 0 if no rows are left.
 */
export function purgeRows(db: Db, of: Purged): Promise<number> {
  return db.write('purge', async (tx) => {
    for (const entity of ofSubmissions) {
      const columns = entity.key.slice(1)
      const listed = sql.join(columns.map((column) => sql.ref(column)))
      const rows = await tx.all(sql<Row>`
        select ${listed} from ${sql.table(entity.table)} where ${isOf(of)} limit ${sql.lit(STEP)}`)
      if (rows.length === 0) continue
      for (const row of rows) await deleteRow(tx, entity, of, row)
      const keyOf = (row: Row) => columns.map((column) => row[column] ?? null)
      const removals = rows.map((row) => changeOf(of, entity, keyOf(row)))
      await appendChanges(tx, removals)
      return rows.length
    }
    return 0
  })
}

async function deleteRow(tx: Tx, entity: Entity, { account }: Purged, row: Row): Promise<void> {
  if (entity.table === documents.table) {
    await tx.run(sql`delete from sync_documents where account = ${account} and document_key = ${row['document_key']}`)
  }
  const own = Object.entries(row).map(([column, value]) => sql`${sql.ref(column)} = ${value}`)
  await tx.run(sql`delete from ${sql.table(entity.table)} where account = ${account} and ${sql.join(own, sql` and `)}`)
}

/**
 * Empties `before` and `after` of the purged submissions' changes, in the next `LOOKED` rows of the change log.
 * @returns the value of `after` for the next call; null at the end.
 */
export async function purgeChanges(db: Db, all: readonly Purged[], after: number): Promise<number | null> {
  const rows = await db.read.all(sql<Columns<'changes', 'seq' | 'account' | 'submission_id' | 'operation'>>`
    select seq, account, submission_id, operation from changes where seq > ${after} order by seq limit ${LOOKED}`)
  const purged = new Set(all.map(({ account, submissionId }) => `${account} ${submissionId}`))
  const hits = rows.filter(({ account, submission_id, operation }) => operation !== 'purged' && purged.has(`${account} ${submission_id}`))
  for (let from = 0; from < hits.length; from += STEP) {
    const seqs = hits.slice(from, from + STEP).map(({ seq }) => seq)
    await db.write('purge', (tx) => tx.sql.updateTable('changes').set({ before: null, after: '{}' }).where('seq', 'in', seqs).execute())
  }
  return rows.length < LOOKED ? null : (rows.at(-1)?.seq ?? null)
}

/**
 * Empties body, headers, and description of processed deliveries that belong to a purged submission, or whose body
 * contains the submission's id.
 * @returns the value of `after` for the next call; null at the end.
 */
export async function purgeBodies(db: Db, all: readonly Purged[], after: number): Promise<number | null> {
  const rows = await deliveriesAfter(db.read, after)
  const isHit = ({ account, submission_id, body }: (typeof rows)[number]) =>
    all.some((of) => of.account === account && (submission_id === of.submissionId || namesSubmission(body, of)))
  const hits = rows.filter(isHit).map(({ inbox_id }) => inbox_id)
  if (hits.length > 0) {
    await db.write('purge', (tx) =>
      tx.run(sql`
      update sync_inbox set body = null, headers = '{}', what = null where inbox_id in (${sql.join(hits)}) and state <> 'ready'`),
    )
  }
  return rows.length < STEP ? null : (rows.at(-1)?.inbox_id ?? null)
}

function deliveriesAfter(q: Query, after: number) {
  return q.all(sql<Columns<'sync_inbox', 'inbox_id' | 'account' | 'submission_id' | 'body'>>`
    select inbox_id, account, submission_id, body from sync_inbox where inbox_id > ${after} and (body is not null or what is not null)
    order by inbox_id limit ${STEP}`)
}

function namesSubmission(body: Buffer | null, { submissionId }: Purged): boolean {
  return body?.toString('latin1').toLowerCase().includes(submissionId) ?? false
}

/**
 * Empties bodies of rejected deliveries that contain the id of a purged submission.
 * @returns the value of `after` for the next call; null at the end.
 */
export async function purgeRejected(db: Db, all: readonly Purged[], after: number): Promise<number | null> {
  const rows = await db.read.all(sql<Columns<'sync_rejected', 'rejected_id' | 'body'>>`
    select rejected_id, body from sync_rejected where rejected_id > ${after} and body is not null order by rejected_id
    limit ${REJECTED_STEP}`)
  const hits = rows.filter(({ body }) => all.some((of) => namesSubmission(body, of))).map(({ rejected_id }) => rejected_id)
  if (hits.length > 0) {
    await db.write('purge', (tx) => tx.sql.updateTable('sync_rejected').set({ body: null }).where('rejected_id', 'in', hits).execute())
  }
  return rows.length < REJECTED_STEP ? null : (rows.at(-1)?.rejected_id ?? null)
}

export async function endPurge(db: Db, of: Purged): Promise<void> {
  await db.write('purge', async (tx) => {
    await tx.run(sql`update sync_purged set finished_at = ${dbTime(tx)} where ${isOf(of)}`)
  })
}

/** Submissions of an account whose purge isn't finished. */
export async function interruptedPurges(q: Query, account: string): Promise<string[]> {
  const begun = q.sql.selectFrom('sync_purged').select('submission_id').where('account', '=', account).where('finished_at', 'is', null)
  return (await begun.orderBy('submission_id').execute()).map((row) => row.submission_id)
}

/** Submissions of an account that became unreachable before a time. */
export async function goneBefore(q: Query, account: string, time: string): Promise<string[]> {
  const rows = await q.all(sql<{ submission_id: string }>`
    select submission_id from submissions where account = ${account} and unreachable_since < ${timeValue(q, time)} order by submission_id`)
  return rows.map((row) => row.submission_id)
}

function changeOf({ account, submissionId }: Purged, entity: Entity, key: readonly Row[string][]): Change {
  const about = { account, submission_id: submissionId, entity: entity.table, entity_id: JSON.stringify(key) }
  return { ...about, operation: 'purged', cause: 'command', before: null, after: {} }
}

function isOf({ account, submissionId }: Purged): RawBuilder<unknown> {
  return sql`account = ${account} and submission_id = ${submissionId}`
}
