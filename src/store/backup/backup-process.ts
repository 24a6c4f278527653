import { renameSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import process from 'node:process'
import Database from 'better-sqlite3'
import { syncFile, syncFolder } from '../../base/durable-file.ts'
import { messageOf } from '../../base/errors.ts'
import { guard } from '../../base/guarded-process.ts'
import { COPY_ORIGIN } from '../changes/log-origin.ts'
import { sqliteError } from '../sqlite/errors.ts'
import type { BackupAnswer, BackupOrder } from './backup.ts'
import { factsOf, faultOf, type SqliteFacts } from './facts.ts'

/**
 * Child process that `backup.ts` starts.
 * Sends the size of the database in bytes. After the message `go`, copies the database and verifies the copy.
 */

guard()
const order = await new Promise<BackupOrder>((resolve) => process.once('message', (message) => resolve(message as BackupOrder)))
/** Number of database pages to copy per step. With pages of 4 KB, a step copies 8 MB. */
const PAGES_PER_STEP = 2_000
const LOCK_WAIT_MS = 5_000
const pages = `${order.partial}-pages`
/** File that an error message names: first the source, then the target. */
let place = order.source

const say = (answer: BackupAnswer) => new Promise((resolve) => process.send?.(answer, undefined, undefined, resolve))

try {
  const source = new Database(order.source, { readonly: true, fileMustExist: true, timeout: LOCK_WAIT_MS })
  process.once('message', () => void make(source).catch(failed))
  void say({
    type: 'size',
    bytes: Number(source.pragma('page_count', { simple: true })) * Number(source.pragma('page_size', { simple: true })),
  })
} catch (error) {
  failed(error)
}

async function make(source: Database.Database): Promise<void> {
  // A read transaction keeps one snapshot. Without the transaction, another process's write would restart the copy.
  source.exec('begin')
  source.prepare('select 1 from sqlite_master').get()
  place = order.target
  await source.backup(pages, { progress: () => PAGES_PER_STEP })
  source.exec('rollback')
  source.close()
  const facts = await compact()
  // Deletes the raw copy early, to free disk space. The verification reads only the compacted copy.
  rmSync(pages)
  const problem = await verify(facts)
  if (problem !== null) {
    await say({ type: 'failed', problem: `the copy was made, then removed: ${problem}` })
    return
  }
  const { size: bytes } = statSync(order.partial)
  await syncFile(order.partial)
  renameSync(order.partial, order.target)
  await syncFolder(dirname(order.target))
  await say({ type: 'done', bytes, facts })
}

/**
 * Vacuums the raw copy into `order.partial`. The vacuum leaves out free pages, which may contain purged data.
 * @returns row counts and log ids of the raw copy.
 */
async function compact(): Promise<SqliteFacts> {
  await say({ type: 'step', step: 'compacting' })
  const whole = new Database(pages, { fileMustExist: true })
  try {
    whole.prepare('vacuum into ?').run(order.partial)
    // Counts rows in the raw copy. In the live database, a long read would let the write-ahead log grow.
    return factsOf(whole)
  } finally {
    whole.close()
  }
}

/** Verifies the compacted copy. @param before the facts of the raw copy. @returns the problem; null if the copy is good. */
async function verify(before: SqliteFacts): Promise<string | null> {
  await say({ type: 'step', step: 'verifying' })
  const copy = new Database(order.partial, { fileMustExist: true })
  try {
    copy.pragma('journal_mode = delete')
    copy.pragma('synchronous = full')
    if (before.rows['sync_log_epochs'] !== undefined) copy.prepare('update sync_log_epochs set origin = ?').run(COPY_ORIGIN)
    const facts = factsOf(copy)
    const fault = faultOf(copy, facts)
    if (fault !== null) return fault
    return JSON.stringify(facts) === JSON.stringify(before) ? null : 'it differs from the database'
  } finally {
    copy.close()
  }
}

function failed(error: unknown): void {
  void say({ type: 'failed', problem: messageOf(sqliteError(error, place)) })
}
