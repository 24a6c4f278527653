import { ConcurrentWriteError } from '../../base/errors.ts'
import type { Change } from '../../model/change.ts'
import { submissions } from '../../model/entities/submissions.ts'
import type { Entity, Row } from '../../model/entity.ts'
import { type Place, type StateFact, submissionIn } from '../../model/facts.ts'
import type { Protection } from '../../model/protection/protection.ts'
import { isIdRead } from '../../model/reads.ts'
import type { TimeText } from '../../model/time.ts'
import { appendChanges } from '../changes/change-log.ts'
import type { Db, Tx } from '../engine/db.ts'
import { timeValue } from '../engine/sql.ts'
import { isSameAgain } from '../reads/content-hashes.ts'
import { documentIdsOf } from '../reads/document-ids.ts'
import { advanceAppliedId } from '../reads/known-ids.ts'
import { lockUnknown, purgedAmong } from '../reads/purged.ts'
import { addReads, advanceAppliedNumber } from '../reads/reads.ts'
import type { MirrorAccess, Newest, OnlyRows, Taken } from './access.ts'
import { newestOf } from './newest.ts'
import { writeRecordCounts } from './record-counts.ts'
import { writeSearchWords } from './search-words.ts'
import { sharersOf } from './shared-documents.ts'

/**
 * The only writer of mirror and change-log rows; only `apply/` may hold one. It lives inside one transaction and runs its last statement (see
 * `appendChanges`).
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

  /** The existing rows of `keys`. The lock on their submissions (see `lockSubmissions`) covers them, unless several submissions share them. */
  load(entity: Entity, keys: readonly Row[]): Promise<Row[]> {
    return this.tx.selectMany(entity, keys, { lock: isShared(entity) })
  }

  async loadOfSubmission(entity: Entity, account: string, submissionId: string, only?: OnlyRows): Promise<Row[]> {
    const where = { account, submission_id: submissionIn({ submissionId }) }
    if (only === undefined) {
      const rows = await this.tx.selectWhere(entity, where)
      return isShared(entity) && rows.length > 0
        ? await this.load(
            entity,
            rows.map((row) => keyOf(entity, row)),
          )
        : rows
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

  addReads(places: readonly Place[], now: TimeText, live: boolean): Promise<void> {
    return addReads(this.tx, places, now, live)
  }

  async takeApplied(fact: StateFact): Promise<Taken> {
    if (await isSameAgain(this.tx, fact)) return 'same'
    const mayApply = isIdRead(fact.read)
      ? await advanceAppliedId(this.tx, fact.account, fact.read, fact.ownId ?? '', fact.readNo)
      : await advanceAppliedNumber(this.tx, fact, fact.read, fact.readNo)
    return mayApply ? 'new' : 'stale'
  }

  async insert(entity: Entity, rows: readonly Row[], changes: readonly Change[]): Promise<void> {
    // Another submission's transaction may add a shared row at the same time. This one is then run again.
    const inserted = await this.tx.insertMany(entity, rows, { ignore: isShared(entity) })
    if (inserted !== rows.length) throw new ConcurrentWriteError(`another process added a row of ${entity.table} at the same time`)
    this.#changes.push(...changes)
  }

  async update(entity: Entity, columns: readonly string[], rows: readonly Row[], changes: readonly Change[]): Promise<void> {
    await this.tx.updateMany(entity, columns, rows)
    this.#changes.push(...changes)
  }

  /**
   * Creates missing submissions, then locks the rows of all in key order until the transaction ends. Everything compared later belongs to a
   * submission, so this lock covers it (invariant 2).
   * @param keys distinct, sorted by key.
   * @returns all their rows, and the keys of the new ones. Purged ones have none.
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
      // One by one, which is rare: another process may be adding the same submission, and only one may log it.
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

  /** Changes made so far, for counting. */
  get changes(): readonly Change[] {
    return this.#changes
  }

  /** Writes what follows from the changes, then the change log; nothing may be written afterwards. */
  async finish(): Promise<void> {
    await writeSearchWords(this.tx, this.#changes)
    await writeRecordCounts(this.tx, this.#changes)
    await appendChanges(this.tx, this.#changes)
  }
}

/**
 * Runs `work` in a transaction with a MirrorWriter, and writes the change log last.
 * @throws what `Db.write` throws, and what `work` throws.
 */
export function writeMirror<T>(db: Db, name: string, work: (writer: MirrorWriter) => Promise<T>): Promise<T> {
  return db.write(name, async (tx) => {
    const writer = new MirrorWriter(tx)
    const result = await work(writer)
    await writer.finish()
    return result
  })
}

/** Whether rows may belong to several submissions: the lock on one doesn't cover them. */
function isShared(entity: Entity): boolean {
  return !entity.key.includes('submission_id')
}

function keyOf(entity: Entity, row: Row): Row {
  return Object.fromEntries(entity.key.map((column) => [column, row[column] ?? null]))
}

function keyText(row: Row): string {
  return `${row['account']} ${row['submission_id']}`
}
