import { sql } from 'kysely'
import type { Db, Query } from '../engine/db.ts'
import { readMark, writeMark } from '../sqlite/mark-file.ts'
import type { TokenedLog } from './log-branch.ts'
import { sqlitePath } from './log-origin.ts'

/** Marks in the file: enough to tell what the last minutes told of. */
const MARKS_KEPT = 200

/** @returns what the file beside a SQLite database saw; null when there is none. */
export async function readMarkFile(q: Query): Promise<TokenedLog | null> {
  if (q.kind !== 'sqlite') return null
  const path = await sqlitePath(q)
  return path === '' ? null : readMark(path)
}

/**
 * Keeps the file beside a SQLite database up to date; on Postgres there is none. Of one `serve`, after each check of the log epoch: the file
 * never knows of a change that the database has not committed.
 */
export class MarkKeeper {
  readonly #db: Db
  #written: { readonly logEpoch: string; readonly seq: number } | null = null

  constructor(db: Db) {
    this.#db = db
  }

  /** @throws TransientError when the database is away; what the file system throws when the file cannot be written. */
  async keep(): Promise<void> {
    const { kind, read, seen, processId } = this.#db
    if (kind !== 'sqlite' || seen.logEpoch === '') return
    const { logEpoch, marks } = seen
    const now = { logEpoch, seq: seen.newest?.seq ?? 0 }
    if (this.#written?.logEpoch === now.logEpoch && this.#written.seq === now.seq) return
    const path = await sqlitePath(read)
    if (path === '') return
    const mark = { logEpoch, marks: marks.slice(-MARKS_KEPT) }
    if (this.#written?.logEpoch !== logEpoch) {
      const { instance } = await read.sql
        .selectFrom('sync_log_epochs')
        .select('instance')
        .where('log_epoch', '=', logEpoch)
        .executeTakeFirstOrThrow()
      await writeMark(path, { ...mark, tokens: instance === null ? [processId] : [instance, processId] })
      await this.#db.write('log-instance', (tx) =>
        sql`update sync_log_epochs set instance = ${processId} where log_epoch = ${logEpoch}`.execute(tx.sql),
      )
    }
    await writeMark(path, { ...mark, tokens: [processId] })
    this.#written = now
  }
}
