import { sql } from 'kysely'
import { ConcurrentWriteError } from '../../base/errors.ts'
import type { Change } from '../../model/change.ts'
import { lanes } from '../../model/entities/lanes.ts'
import { marketEvents } from '../../model/entities/market-events.ts'
import { submissions } from '../../model/entities/submissions.ts'
import { threadMessages } from '../../model/entities/thread-messages.ts'
import type { Entity, Row } from '../../model/entity.ts'
import { type StateObservation, type SubmissionRef, submissionIn } from '../../model/observations.ts'
import type { Protection } from '../../model/protection/protection.ts'
import { searchWords } from '../../model/search-words.ts'
import type { TimeText } from '../../model/time.ts'
import { appendChanges } from '../changes/change-log.ts'
import type { Db, Tx } from '../engine/db.ts'
import { timeValue, valuesTable } from '../engine/sql.ts'
import { isSameAgain } from '../reads/content-hashes.ts'
import { documentIdsOf } from '../reads/known-ids.ts'
import { lockUnknown, purgedAmong } from '../reads/purged.ts'
import { addReads, advanceAppliedNumber } from '../reads/reads.ts'
import { stageKey } from '../schema/list-keys.ts'
import { syncSearchWords } from '../schema/overview.ts'
import { specOf } from '../schema/table.ts'
import type { MirrorAccess, Newest, OnlyRows, Taken } from './access.ts'
import { newestOf } from './reader.ts'
import { sharersOf } from './shared-documents.ts'

/**
 * Writes mirror rows in one transaction and collects their changes. Only `apply/` may use this class.
 * `finish` appends the changes to the change log, as the last statement of the transaction (see `appendChanges`).
 */
export class MirrorWriter implements MirrorAccess {
  readonly tx: Tx
  readonly #changes: Change[] = []

  constructor(tx: Tx) {
    this.tx = tx
  }

  get protection(): Protection {
    return this.tx.protection
  }

  get listsDocuments(): boolean {
    return this.tx.listsDocuments
  }

  /**
   * @returns the existing rows with these keys.
   * Locks rows that several submissions share. The lock of `lockSubmissions` already covers other rows.
   */
  load(entity: Entity, keys: readonly Row[]): Promise<Row[]> {
    return this.tx.selectMany(entity, keys, { lock: isShared(entity) })
  }

  async loadOfSubmission(entity: Entity, account: string, submissionId: string, only?: OnlyRows): Promise<Row[]> {
    const where = { account, submission_id: submissionIn({ submissionId }) }
    if (only === undefined) {
      const rows = await this.tx.selectWhere(entity, where)
      const keys = rows.map((row) => keyOf(entity, row))
      return isShared(entity) && rows.length > 0 ? await this.load(entity, keys) : rows
    }
    const rows: Row[] = []
    for (const value of only.values) rows.push(...(await this.tx.selectWhere(entity, { ...where, [only.column]: value })))
    return rows
  }

  newest(account: string, submissionId: string): Promise<Newest> {
    return newestOf(this.tx, account, submissionId)
  }

  documentIds(account: string, submissionId: string): Promise<readonly string[]> {
    return documentIdsOf(this.tx, account, submissionId)
  }

  sharersOf(account: string, documentKey: string): Promise<readonly string[]> {
    return sharersOf(this.tx, account, documentKey)
  }

  purgedAmong(keys: readonly Row[]): Promise<ReadonlySet<string>> {
    return purgedAmong(this.tx, keys)
  }

  addReads(places: readonly SubmissionRef[], now: TimeText, live: boolean): Promise<void> {
    return addReads(this.tx, places, now, live)
  }

  async takeApplied(observation: StateObservation): Promise<Taken> {
    if (await isSameAgain(this.tx, observation)) return 'same'
    return (await advanceAppliedNumber(this.tx, observation, observation.readNo)) ? 'new' : 'stale'
  }

  async insert(entity: Entity, rows: readonly Row[], changes: readonly Change[]): Promise<void> {
    // If another transaction added the same shared row, `ignore` skips the row. The thrown error then makes `Db.write`
    // run `work` again.
    const inserted = await this.tx.insertMany(entity, rows, { ignore: isShared(entity) })
    if (inserted !== rows.length) throw new ConcurrentWriteError(`another process added a row of ${entity.table} at the same time`)
    this.#changes.push(...changes)
  }

  async update(entity: Entity, columns: readonly string[], rows: readonly Row[], changes: readonly Change[]): Promise<void> {
    await this.tx.updateMany(entity, columns, rows)
    this.#changes.push(...changes)
  }

  /**
   * Creates missing submissions, then locks the rows of all `keys` in key order until the transaction ends.
   * These locks also protect the submissions' rows in other tables: each transaction first locks the submission.
   * @param keys distinct, sorted by key.
   * @returns the submission rows of `keys`, and the keys of new submissions. Purged submissions have no row.
   */
  async lockSubmissions(keys: readonly Row[], trackedAt: TimeText, via: (key: Row) => string): Promise<{ rows: Row[]; added: Row[] }> {
    const found = await this.tx.selectMany(submissions, keys, { lock: true })
    if (found.length === keys.length) return { rows: found, added: [] }
    const known = new Set(found.map(keyText))
    const missing = keys.filter((key) => !known.has(keyText(key)))
    await lockUnknown(this.tx, true)
    const purged = await this.purgedAmong(missing)
    const added: Row[] = []
    for (const key of missing) {
      if (purged.has(keyText(key))) continue
      // Inserts one submission per statement, to learn which submissions this process added. If several processes try
      // to add the same submission, only the process whose insert succeeds may append a change.
      const inserted = await this.tx.sql
        .insertInto('submissions')
        .values({
          account: String(key['account']),
          submission_id: String(key['submission_id']),
          tracked_at: timeValue(this.tx, trackedAt),
          tracked_via: via(key),
        })
        .onConflict((oc) => oc.columns(['account', 'submission_id']).doNothing())
        .returning('submission_id')
        .executeTakeFirst()
      if (inserted) added.push(key)
    }
    return { rows: await this.tx.selectMany(submissions, keys, { lock: true }), added }
  }

  get changes(): readonly Change[] {
    return this.#changes
  }

  /** Writes derived rows, then the change log. Write nothing in this transaction afterwards. */
  async finish(): Promise<void> {
    await writeSearchWords(this.tx, this.#changes)
    await writeRecordCounts(this.tx, this.#changes)
    await writeStages(this.tx, this.#changes)
    await appendChanges(this.tx, this.#changes)
  }
}

/**
 * Runs `work` in a transaction with a MirrorWriter, then writes the change log.
 * @throws the errors of `Db.write` and `work`.
 */
export function writeMirror<T>(db: Db, name: string, work: (writer: MirrorWriter) => Promise<T>): Promise<T> {
  return db.write(name, async (tx) => {
    const writer = new MirrorWriter(tx)
    const result = await work(writer)
    await writer.finish()
    return result
  })
}

/** True if several submissions may share rows of this table. The lock of a submission doesn't protect shared rows. */
function isShared(entity: Entity): boolean {
  return !entity.key.includes('submission_id')
}

function keyOf(entity: Entity, row: Row): Row {
  return Object.fromEntries(entity.key.map((column) => [column, row[column] ?? null]))
}

function keyText(row: Row): string {
  return `${row['account']} ${row['submission_id']}`
}

const COUNTED: readonly string[] = [marketEvents.table, threadMessages.table]

/**
 * Stores the number of events and messages of each submission that got new events or messages.
 * Readers then don't have to count millions of rows.
 * Counts all events and messages each time. The next count is then right, even if someone deleted a row by hand.
 * The caller has locked the submission rows.
 */
async function writeRecordCounts(tx: Tx, changes: readonly Change[]): Promise<void> {
  const inserted = changes.filter(({ entity, operation }) => operation === 'insert' && COUNTED.includes(entity))
  if (inserted.length === 0) return
  const keys = inserted.map(({ account, submission_id }): [string, Row] => [`${account} ${submission_id}`, { account, submission_id }])
  const given = valuesTable(tx, { account: 'text', submission_id: 'text' }, [...new Map(keys).values()])
  const count = (table: string) =>
    sql`(select count(*) from ${sql.table(table)} x where x.account = given.account and x.submission_id = given.submission_id)`
  await tx.run(sql`
    insert into sync_record_counts (account, submission_id, events, messages)
    select account, submission_id, ${count(marketEvents.table)}, ${count(threadMessages.table)} from ${given} where true
    on conflict (account, submission_id) do update set events = excluded.events, messages = excluded.messages`)
}

const STAGED_BY: readonly string[] = ['unreachable_since', 'marketing_status']

/**
 * Computes the stage of each submission whose lanes, reachability, or marketing status changed.
 * The caller has locked the submission rows.
 */
export async function writeStages(tx: Tx, changes: readonly Change[]): Promise<void> {
  const moved = changes.filter(({ entity, operation, after }) => {
    if (entity === submissions.table) return operation === 'insert' || STAGED_BY.some((column) => after[column] !== undefined)
    return entity === lanes.table
  })
  if (moved.length === 0) return
  const of = moved.map(({ account, submission_id }) => ({ account, submission_id }))
  const given = valuesTable(tx, { account: 'text', submission_id: 'text' }, of)
  const stage = sql.raw(stageKey(tx))
  await tx.run(sql`
    update submissions as s set stage = ${stage}
    where (account, submission_id) in (select account, submission_id from ${given}) and stage is distinct from ${stage}`)
}

const searchWordsTable = specOf(syncSearchWords)

/** Replaces the search words of submissions whose insured's name changed. The caller has locked the submission rows. */
export async function writeSearchWords(tx: Tx, changes: readonly Change[]): Promise<void> {
  const renamed = changes.filter(({ entity, after }) => entity === submissions.table && after['insured_name'] !== undefined)
  if (renamed.length === 0) return
  const of = renamed.map(({ account, submission_id }) => ({ account, submission_id }))
  const given = valuesTable(tx, { account: 'text', submission_id: 'text' }, of)
  await tx.run(sql`delete from sync_search_words where (account, submission_id) in (select account, submission_id from ${given})`)
  const rows = renamed.flatMap(({ account, submission_id, after }) => {
    const name = after['insured_name']
    return (typeof name === 'string' ? searchWords(name) : []).map((word) => ({ account, submission_id, word }))
  })
  // If a transaction changed the name of a submission twice, both names may have the same word.
  await tx.insertMany(searchWordsTable, rows, { ignore: true })
}
