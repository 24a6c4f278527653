import { renameSync, statSync } from 'node:fs'
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

/** Child process of backup.ts. Reports the bytes needed, waits for a message, then makes and verifies the copy. */

guard()
const order = await new Promise<BackupOrder>((resolve) => process.once('message', (message) => resolve(message as BackupOrder)))
/** Pages copied per step, 8 MB. */
const PAGES_PER_STEP = 2_000
const LOCK_WAIT_MS = 5_000
const pages = `${order.partial}-pages`
/** File named in an error message. */
let place = order.source

const say = (answer: BackupAnswer) => process.send?.(answer)

try {
  const source = new Database(order.source, { readonly: true, fileMustExist: true, timeout: LOCK_WAIT_MS })
  process.once('message', () => void make(source).catch(failed))
  say({
    type: 'size',
    bytes: 2 * Number(source.pragma('page_count', { simple: true })) * Number(source.pragma('page_size', { simple: true })),
  })
} catch (error) {
  failed(error)
}

async function make(source: Database.Database): Promise<void> {
  // One snapshot: concurrent writes are not copied and don't restart the copy.
  source.exec('begin')
  const before = factsOf(source)
  place = order.target
  await source.backup(pages, { progress: () => PAGES_PER_STEP })
  source.exec('rollback')
  source.close()
  const problem = finish(before)
  if (problem !== null) {
    say({ type: 'failed', problem: `the copy was made, then removed: ${problem}` })
    return
  }
  const { size: bytes } = statSync(order.partial)
  await syncFile(order.partial)
  renameSync(order.partial, order.target)
  await syncFolder(dirname(order.target))
  say({ type: 'done', bytes, facts: before })
}

/** Vacuums the copy, because free pages may contain purged data, then verifies the copy. @returns the problem, or null. */
function finish(before: SqliteFacts): string | null {
  const whole = new Database(pages, { fileMustExist: true })
  try {
    whole.prepare('vacuum into ?').run(order.partial)
  } finally {
    whole.close()
  }
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
  say({ type: 'failed', problem: messageOf(sqliteError(error, place)) })
}
