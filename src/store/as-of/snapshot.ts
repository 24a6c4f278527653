import { sql } from 'kysely'
import { itemsOf } from '../../base/paged.ts'
import { marketEvents } from '../../model/entities/market-events.ts'
import { submissions } from '../../model/entities/submissions.ts'
import { threadAttachments } from '../../model/entities/thread-attachments.ts'
import { threadMessages } from '../../model/entities/thread-messages.ts'
import { entities, entityNamed } from '../../model/entities.ts'
import { columnsWhere, type Entity, isInChangeLog, type Row } from '../../model/entity.ts'
import type { SubmissionRef } from '../../model/observations.ts'
import type { TimeText } from '../../model/time.ts'
import { changesAfter, type LoggedChange } from '../changes/reader.ts'
import type { Query, Tx } from '../engine/db.ts'
import { timeValue } from '../engine/sql.ts'
import { createTables } from '../migrate/migrate.ts'
import { stageKey } from '../schema/list-keys.ts'
import { relationOf, specOf, specWithoutRaw } from '../schema/table.ts'
import { openTemporary } from '../sqlite/sqlite.ts'

/** Number of changes that one query reads. */
const PAGE = 500

const RECORDS: readonly string[] = [marketEvents, threadMessages, threadAttachments].map(({ table }) => table)

/** Tables whose rows may move to another submission. */
const SHARED = entities.filter(({ key }) => !(key as readonly string[]).includes('submission_id')).map(({ table }) => table as string)

export interface SnapshotOf extends SubmissionRef {
  /** Number of a change. The snapshot contains the rows as they were just after this change. */
  readonly seq: number
  /**
   * If set, the snapshot contains the events and messages that occurred until this time, with their current content. If
   * not set, the snapshot restores events and messages like all other rows.
   */
  readonly happenedBy?: TimeText | undefined
}

/** Number of the last change at or before a time; 0 if the first change is later. */
export async function seqAt(q: Query, at: TimeText): Promise<number> {
  return await q.count(sql<{ seq: number }>`
    select seq from changes where changed_at <= ${timeValue(q, at)} order by changed_at desc, seq desc limit 1`)
}

/**
 * Finds the part of the change log from which a submission can be restored. Earlier changes may be missing because of
 * retention, lost changes, or an earlier purge.
 * @returns `seq`: number of the last change before this part; 0 if no change is missing.
 * `since`: time of the first change in this part; null if no change is missing, or if this part is empty.
 */
export async function logStartOf(q: Query, { account, submissionId }: SubmissionRef): Promise<{ seq: number; since: TimeText | null }> {
  const seq = await q.count(sql<{ seq: number | null }>`
    select max(seq) as seq from (
      select first_seq - 1 as seq from mirror_info union all select max(seq) from reconcile_findings where kind = 'lost' union all
      select max(seq) from changes where account = ${account} and submission_id = ${submissionId} and operation = 'purged') as ends`)
  const first = await q.one(sql<{ since: TimeText }>`select changed_at as since from changes where seq > ${seq} order by seq limit 1`)
  return { seq, since: seq === 0 ? null : (first?.since ?? null) }
}

/**
 * Restores the rows of a submission in a temporary SQLite database, then calls `read`. Copies the current rows, then
 * undoes later changes, newest first. Columns that the change log omits are empty, except `stage`.
 * Each row is copied before its changes are read, so a change made in between is undone too.
 */
export async function readSnapshot<T>(q: Query, of: SnapshotOf, read: (rows: Query) => Promise<T>): Promise<T> {
  const { tx, close } = openTemporary(q)
  try {
    await createTables(tx)
    const own = { account: of.account, submission_id: of.submissionId }
    for (const entity of entities as readonly Entity[]) await insert(tx, entity, await q.selectWhere(specWithoutRaw(entity), own))
    await undoChanges(q, tx, of, [of.submissionId])
    // The restored rows refer to rows that several submissions share, such as policies. The log lists changes of a
    // shared row under the submission that owns the row.
    await undoChanges(q, tx, of, [of.submissionId, ...(await copyShared(q, tx, of))])
    for (const table of of.happenedBy === undefined ? [] : [marketEvents.table, threadMessages.table])
      await tx.run(sql`delete from ${sql.table(table)} where occurred_at > ${of.happenedBy}`)
    await tx.run(sql`update submissions as s set stage = ${sql.raw(stageKey(tx))}`)
    return await read(tx)
  } finally {
    close()
  }
}

/**
 * Inserts the columns that the change log contains. `raw` gets the JSON text `null`, because the column can't be empty.
 */
async function insert(tx: Tx, entity: Entity, rows: readonly Row[]): Promise<void> {
  const columns = columnsWhere(entity, (field) => field.kind === 'raw' || isInChangeLog(field))
  const restored = rows.map((row) => ({ ...row, raw: 'null' }))
  await tx.insertMany(specOf(relationOf(entity), ...columns), restored, { ignore: true })
}

/**
 * Copies rows of other submissions: rows that this submission names, and rows that once belonged to this submission.
 * @returns the submissions to which the copied rows belong now.
 */
async function copyShared(q: Query, tx: Tx, { account, submissionId }: SnapshotOf): Promise<string[]> {
  const own = sql`account = ${account} and submission_id = ${submissionId}`
  const logged = await q.all(sql<Pick<LoggedChange, 'entity' | 'entity_id'>>`
    select distinct entity, entity_id from changes where ${own} and entity in (${sql.join(SHARED)})`)
  const inRows = await tx.all(sql<{ entity: string; id: string }>`
    select 'policies' as entity, policy_id as id from bind_requests where policy_id is not null
    union select 'insureds', insured_id from submissions where insured_id is not null`)
  const documents = await q.all(sql<{ id: string }>`select document_key as id from sync_shared_documents where ${own}`)
  const named = [
    ...inRows,
    ...documents.map(({ id }) => ({ entity: 'documents', id })),
    ...logged.map(({ entity, entity_id }) => ({ entity, id: String((JSON.parse(entity_id) as string[])[0]) })),
  ]
  const owners: string[] = []
  for (const [table, keys] of Map.groupBy(named, ({ entity }) => entity)) {
    const entity = entityNamed(table)
    if (entity === null) continue
    const ids = [...new Set(keys.map(({ id }) => id))].map((id) => ({ account, [entity.key[1] ?? '']: id }))
    const rows = await q.selectMany(entity, ids)
    await insert(tx, entity, rows)
    owners.push(...rows.flatMap(({ submission_id }) => (submission_id ? String(submission_id) : [])))
  }
  return owners
}

/**
 * Undoes changes after `of.seq`. Of the other searched submissions, undoes only changes of tables in `SHARED`.
 * With `of.happenedBy`, keeps the records and the submission's row as they are now.
 * @param under submissions to search. If a change shows that a shared row belonged to another submission before, that
 * submission is searched too.
 */
async function undoChanges(q: Query, tx: Tx, of: SnapshotOf, under: readonly string[]): Promise<void> {
  const later: LoggedChange[] = []
  const owners = new Set(under)
  // The loop also visits the owners that its body adds.
  for (const submissionId of owners) {
    const read = (last?: LoggedChange) => changesAfter(q, last?.seq ?? of.seq, PAGE, { account: of.account, submissionId })
    for await (const change of itemsOf(PAGE, read)) {
      const isShared = SHARED.includes(change.entity)
      if (isShared || submissionId === of.submissionId) later.push(change)
      // A row that moved has earlier changes under its former submission.
      const former = change.before?.['submission_id']
      if (isShared && former) owners.add(String(former))
    }
  }
  // With `happenedBy`, events, messages, and attachments stay as they are now. The submission's row stays even if it
  // was inserted later, because the row contains the insured's name.
  const isKept = ({ entity, operation }: LoggedChange) =>
    of.happenedBy !== undefined && (RECORDS.includes(entity) || (entity === submissions.table && operation === 'insert'))
  for (const change of later.sort((a, b) => b.seq - a.seq)) if (!isKept(change)) await undo(tx, of, change)
}

async function undo(tx: Tx, of: SnapshotOf, { entity: table, entity_id, operation, before }: LoggedChange): Promise<void> {
  const entity = entityNamed(table)
  if (entity === null) return
  const ids = [of.account, ...(JSON.parse(entity_id) as string[])]
  const columns = sql.join(entity.key.map((column) => sql.ref(column)))
  if (operation === 'insert') await tx.run(sql`delete from ${sql.table(table)} where (${columns}) = (${sql.join(ids)})`)
  else if (before !== null) {
    const key = Object.fromEntries(entity.key.map((column, place) => [column, ids[place] ?? null]))
    await tx.updateMany(entity, Object.keys(before), [{ ...key, ...before }])
  }
}
