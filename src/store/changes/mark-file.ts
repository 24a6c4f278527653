import { readFile } from 'node:fs/promises'
import { sql } from 'kysely'
import { z } from 'zod'
import { replaceFile } from '../../base/durable-file.ts'
import type { Db, Query } from '../engine/db.ts'
import type { LogMark } from '../engine/log-seen.ts'
import type { TokenedLog } from './log-divergence.ts'
import { sqlitePath } from './log-origin.ts'

/**
 * Maximum marks (change numbers with fingerprints) in the file. The file has the newest marks: one for each transaction
 * that appended changes.
 */
const MARKS_KEPT = 200

/** Reads the mark file of a SQLite database. @returns null if the file is missing or unreadable, and on Postgres. */
export async function readMarkFile(q: Query): Promise<TokenedLog | null> {
  if (q.kind !== 'sqlite') return null
  const path = await sqlitePath(q)
  return path === '' ? null : readMark(path)
}

/**
 * Writes the mark file of a SQLite database. The heartbeat calls `keep` after each check of the log epoch.
 * The file never contains uncommitted changes.
 */
export class MarkKeeper {
  readonly #db: Db
  #written: { readonly logEpoch: string; readonly seq: number } | null = null

  constructor(db: Db) {
    this.#db = db
  }

  /**
   * Writes the file if the log epoch or the newest number changed.
   * @throws TransientError if the database is unavailable; file system errors if the file can't be written.
   */
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
        tx.run(sql`update sync_log_epochs set instance = ${processId} where log_epoch = ${logEpoch}`),
      )
    }
    await writeMark(path, { ...mark, tokens: [processId] })
    this.#written = now
  }
}

/**
 * Content of the mark file, which is next to the database file.
 * If an older copy replaces the database, the marks reveal the missing changes at the next start.
 */
interface MarkFile {
  readonly logEpoch: string
  /**
   * Usually only the id of the process that last wrote this file. `sync_log_epochs.instance` has the same id.
   * A new process first writes two ids here, the previous process's and its own. Then it writes its own id in the
   * database.
   * If the file had only the new id, a crash between the two writes would make the database look like a copy.
   */
  readonly tokens: readonly string[]
  readonly marks: readonly LogMark[]
}

const shape = z.object({
  logEpoch: z.string(),
  tokens: z.array(z.string()),
  marks: z.array(
    z.object({
      seq: z.int().positive(),
      fingerprint: z.string(),
      touched: z.array(z.tuple([z.string(), z.string()]).readonly()).readonly(),
    }),
  ),
})

function markFileOf(database: string): string {
  return `${database}-mark`
}

/** @returns null if the file is missing or unreadable. */
async function readMark(database: string): Promise<MarkFile | null> {
  try {
    return shape.parse(JSON.parse(await readFile(markFileOf(database), 'utf8')))
  } catch {
    return null
  }
}

/** Replaces the file atomically. After a power failure, the old or the new file exists. */
async function writeMark(database: string, mark: MarkFile): Promise<void> {
  const path = markFileOf(database)
  await replaceFile(path, `${path}.new`, JSON.stringify(mark))
}
