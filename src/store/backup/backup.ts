import { randomBytes } from 'node:crypto'
import { accessSync, constants, existsSync, realpathSync, rmSync, statSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { Worker } from 'node:worker_threads'
import { messageOf, PermanentError, UsageError } from '../../base/errors.ts'
import type { SqliteFacts } from './facts.ts'

/** Input of the worker: absolute file names. */
export interface BackupOrder {
  readonly source: string
  /** Where the copy is written; before, page by page, beside it. */
  readonly partial: string
  /** Its final name, given once it is complete, durable and verified. */
  readonly target: string
}

export type BackupAnswer =
  | { readonly type: 'size'; readonly bytes: number }
  | { readonly type: 'done'; readonly bytes: number; readonly facts: SqliteFacts }
  | { readonly type: 'failed'; readonly problem: string }

/** A verified backup. */
export interface Backup {
  readonly path: string
  readonly bytes: number
  readonly facts: SqliteFacts
}

/**
 * Copies a SQLite database consistently while it is in use: SQLite's online backup in a worker thread, within one read transaction. No writer
 * waits for it and none restarts it (invariant 13). The copy gets its name once it is complete, durable, intact, and has as many rows in every
 * table as the database had. It is one file, marked as a copy. If anything fails, nothing is left behind.
 * @throws UsageError when the target exists or its folder does not; PermanentError when no backup could be made; the reason of `signal` when
 * it aborts.
 */
export async function backupSqlite(path: string, file: string, signal: AbortSignal): Promise<Backup> {
  const target = resolve(file)
  if (!existsSync(dirname(target))) throw new UsageError([`there is no folder ${dirname(target)} to put the backup into; make it first`])
  if (isOfDatabase(target, path)) throw new UsageError([`${file} is a file of the database itself; name another file`])
  if (statSync(target, { throwIfNoEntry: false })?.isDirectory()) throw new UsageError([`${target} is a folder; name a file in it`])
  if (!isWritable(dirname(target)))
    throw new UsageError([`this user may not write into ${dirname(target)}; choose another folder, or give it the right to`])
  if (existsSync(target)) throw new UsageError([`${file} exists already; name another file, or remove it`])
  const order: BackupOrder = { source: resolve(path), target, partial: `${target}.partial-${randomBytes(4).toString('hex')}` }
  signal.throwIfAborted()
  // Run from its source the program's files end in .ts, built ones in .js.
  const script = import.meta.url.endsWith('.ts') ? './backup-worker.ts' : './backup-worker.js'
  const worker = new Worker(new URL(script, import.meta.url), { workerData: order })
  try {
    return { path: target, ...(await answerOf(worker, order, signal)) }
  } finally {
    await worker.terminate()
    for (const ending of ['', '-journal', '-wal', '-shm'])
      for (const file of [order.partial, `${order.partial}-pages`]) rmSync(`${file}${ending}`, { force: true })
  }
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK)
    return true
  } catch {
    return false
  }
}

/** Endings of files that SQLite or the lock of `serve` keeps beside a database. They would take any file of that name for theirs. */
const ENDINGS = ['', '-wal', '-shm', '-journal', '-serve', '-serve-journal', '-mark', '-mark.new']

/** Whether a file, which need not exist, has the name of the database or of a file that belongs to it. */
function isOfDatabase(target: string, database: string): boolean {
  const name = existsSync(target) ? realpathSync(target) : join(realpathSync(dirname(target)), basename(target))
  const whole = existsSync(database) ? realpathSync(database) : resolve(database)
  return ENDINGS.some((ending) => name === `${whole}${ending}`)
}

function answerOf(worker: Worker, order: BackupOrder, signal: AbortSignal): Promise<{ bytes: number; facts: SqliteFacts }> {
  const answer = Promise.withResolvers<{ bytes: number; facts: SqliteFacts }>()
  const fail = (problem: string) => answer.reject(new PermanentError(`no backup was made: ${problem}`))
  const stop = () => answer.reject(signal.reason)
  signal.addEventListener('abort', stop, { once: true })
  worker.on('message', (message: BackupAnswer) => {
    if (message.type === 'done') answer.resolve({ bytes: message.bytes, facts: message.facts })
    else if (message.type === 'failed') fail(message.problem)
    else
      roomFor(dirname(order.target), message.bytes).then(
        (problem) => (problem === null ? worker.postMessage('go') : fail(problem)),
        (error: unknown) => fail(messageOf(error)),
      )
  })
  worker.on('error', (error) => fail(messageOf(error)))
  worker.on('exit', () => fail('the thread that made it ended'))
  return answer.promise.finally(() => signal.removeEventListener('abort', stop))
}

/** A full disk would also stop the receiver, so the room is checked first. @returns what is wrong; null when there is room. */
export async function roomFor(folder: string, bytes: number): Promise<string | null> {
  const { bavail, bsize } = await statfs(folder)
  const free = bavail * bsize
  if (free > bytes) return null
  return `it takes ${megabytes(bytes)} and ${folder} has ${megabytes(free)} left; make room, or name another volume`
}

/** Bytes as text, such as `12.3 MB`. */
export function megabytes(bytes: number): string {
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(1)} GB`
}
