import type { ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { accessSync, constants, existsSync, realpathSync, statSync } from 'node:fs'
import { rm, statfs } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { abortable } from '../../base/abortable.ts'
import { messageOf, PermanentError, UsageError } from '../../base/errors.ts'
import { startGuarded } from '../../base/guarded-process.ts'
import type { SqliteFacts } from './facts.ts'
import { type BackupProgress, type BackupStep, watchBackup } from './progress.ts'

/** Input of the backup process. All paths are absolute. */
export interface BackupOrder {
  readonly source: string
  /** Temporary path of the compacted copy. The raw copy has the path `<partial>-pages`. */
  readonly partial: string
  /** Final path. The compacted copy is renamed to this path after it was verified and synced to disk. */
  readonly target: string
}

export type BackupAnswer =
  | { readonly type: 'size'; readonly bytes: number }
  | { readonly type: 'step'; readonly step: BackupStep }
  | { readonly type: 'done'; readonly bytes: number; readonly facts: SqliteFacts }
  | { readonly type: 'failed'; readonly problem: string }

/** A verified backup. */
export interface Backup {
  readonly path: string
  readonly bytes: number
  readonly facts: SqliteFacts
}

/**
 * Copies a SQLite database while other processes use it.
 * A child process copies in one read transaction. Writers don't wait, and their changes don't restart the copy.
 * The copy gets its final name after it was verified and synced to disk.
 * After an error, all temporary files are deleted.
 * @param path the database.
 * @param file path of the backup.
 * @throws UsageError if `file` exists or belongs to the database, or if its folder is missing or not writable;
 * PermanentError if the backup fails; the reason of `signal` if aborted.
 */
export async function backupSqlite(
  path: string,
  file: string,
  signal: AbortSignal,
  onProgress: (progress: BackupProgress) => void = () => undefined,
): Promise<Backup> {
  const target = resolve(file)
  if (!existsSync(dirname(target))) throw new UsageError([`there is no folder ${dirname(target)} for the backup; create it first`])
  if (isOfDatabase(target, path)) throw new UsageError([`${file} is a file of the database itself; name another file`])
  if (statSync(target, { throwIfNoEntry: false })?.isDirectory()) throw new UsageError([`${target} is a folder; name a file in it`])
  if (!isWritable(dirname(target)))
    throw new UsageError([`this user may not write into ${dirname(target)}; choose another folder, or grant it write access`])
  if (existsSync(target)) throw new UsageError([`${file} exists already; name another file, or remove it`])
  const order: BackupOrder = { source: resolve(path), target, partial: `${target}.partial-${randomBytes(4).toString('hex')}` }
  const files = { copying: `${order.partial}-pages`, compacting: order.partial }
  signal.throwIfAborted()
  const script = import.meta.url.endsWith('.ts') ? './backup-process.ts' : './backup-process.js'
  let step: BackupStep = 'copying'
  let endWatch = async () => {}
  const removeFiles = async () => {
    await endWatch()
    const all = ['', '-journal', '-wal', '-shm'].flatMap((ending) => Object.values(files).map((file) => `${file}${ending}`))
    await Promise.all(all.map((file) => rm(file, { force: true })))
  }
  const made = inProcess<BackupAnswer, Omit<Backup, 'path'>>(script, order, signal, removeFiles, ({ resolve, fail, child }, answer) => {
    if (answer.type === 'done') resolve({ bytes: answer.bytes, facts: answer.facts })
    else if (answer.type === 'failed') fail(`no backup was made: ${answer.problem}`)
    else if (answer.type === 'step') step = answer.step
    else {
      roomFor(dirname(target), 2 * answer.bytes).then(
        (problem) => (problem === null ? child.send('go') : fail(`no backup was made: ${problem}`)),
        (error: unknown) => fail(`no backup was made: ${messageOf(error)}`),
      )
      endWatch = watchBackup({ files, bytes: answer.bytes, step: () => step, onProgress })
    }
  })
  return { path: target, ...(await made) }
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK)
    return true
  } catch {
    return false
  }
}

/** Suffixes of the files that belong to a database, including its `serve` lock and its mark file. */
const ENDINGS = ['', '-wal', '-shm', '-journal', '-serve', '-serve-journal', '-mark', '-mark.new']

function isOfDatabase(target: string, database: string): boolean {
  const name = existsSync(target) ? realpathSync(target) : join(realpathSync(dirname(target)), basename(target))
  const whole = existsSync(database) ? realpathSync(database) : resolve(database)
  return ENDINGS.some((ending) => name === `${whole}${ending}`)
}

interface Answering<T> {
  readonly child: ChildProcess
  readonly resolve: (result: T) => void
  readonly fail: (problem: string) => void
}

/**
 * Runs a script of this folder in a child process, until `onMessage` calls `resolve` or `fail`.
 * @param removeFiles deletes the files of the child process. Called at the end, also after an error.
 * @throws PermanentError if `onMessage` calls `fail` or the process ends early; the reason of `signal` if aborted.
 */
export async function inProcess<Message, T>(
  file: string,
  order: object,
  signal: AbortSignal,
  removeFiles: () => Promise<void>,
  onMessage: (answering: Answering<T>, message: Message) => void,
): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  const child = startGuarded(new URL(file, import.meta.url), { stderr: 'inherit' })
  const fail = (problem: string) => reject(new PermanentError(problem))
  child.on('message', (message) => onMessage({ child, resolve, fail }, message as Message))
  child.on('error', (error) => fail(messageOf(error)))
  child.on('exit', () => fail(`the process ${basename(file)} ended unexpectedly`))
  child.send(order)
  try {
    return await abortable(promise, signal)
  } finally {
    // The system frees the disk space of a deleted file only when no process has the file open. For a large file, this
    // takes seconds. The stopped child keeps the files open, so deleting them is fast.
    // The child is killed without waiting for its end.
    child.kill('SIGSTOP')
    try {
      await removeFiles()
    } finally {
      child.kill('SIGKILL')
      child.unref()
    }
  }
}

/**
 * Checks the free disk space of a folder. A full disk would also stop the receiver.
 * @returns the problem; null if there is enough space for `bytes`.
 */
export async function roomFor(folder: string, bytes: number): Promise<string | null> {
  const { bavail, bsize } = await statfs(folder)
  const free = bavail * bsize
  if (free > bytes) return null
  return `it needs ${megabytes(bytes)} and ${folder} has ${megabytes(free)} free; make room, or name another volume`
}

export function megabytes(bytes: number): string {
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(1)} GB`
}
