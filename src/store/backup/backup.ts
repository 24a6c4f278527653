import type { ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { accessSync, constants, existsSync, realpathSync, rmSync, statSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { abortable } from '../../base/abortable.ts'
import { messageOf, PermanentError, UsageError } from '../../base/errors.ts'
import { startGuarded } from '../../base/guarded-process.ts'
import type { SqliteFacts } from './facts.ts'

/** Input of the process. All paths are absolute. */
export interface BackupOrder {
  readonly source: string
  /** Temporary path; the raw copy is `<partial>-pages`. */
  readonly partial: string
  /** Final path of the complete, durable, verified copy. */
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
 * Copies a SQLite database while it is in use, in one read transaction of a child process, which can be stopped at any time. Writers are not blocked and don't restart the
 * copy. The copy gets its final name once it is complete, durable and verified. A failure leaves no files.
 * @throws UsageError if the target exists or its folder does not; PermanentError if the backup fails; the reason of `signal` if aborted.
 */
export async function backupSqlite(path: string, file: string, signal: AbortSignal): Promise<Backup> {
  const target = resolve(file)
  if (!existsSync(dirname(target))) throw new UsageError([`there is no folder ${dirname(target)} for the backup; create it first`])
  if (isOfDatabase(target, path)) throw new UsageError([`${file} is a file of the database itself; name another file`])
  if (statSync(target, { throwIfNoEntry: false })?.isDirectory()) throw new UsageError([`${target} is a folder; name a file in it`])
  if (!isWritable(dirname(target)))
    throw new UsageError([`this user may not write into ${dirname(target)}; choose another folder, or grant it write access`])
  if (existsSync(target)) throw new UsageError([`${file} exists already; name another file, or remove it`])
  const order: BackupOrder = { source: resolve(path), target, partial: `${target}.partial-${randomBytes(4).toString('hex')}` }
  signal.throwIfAborted()
  const script = import.meta.url.endsWith('.ts') ? './backup-process.ts' : './backup-process.js'
  const made = inProcess<BackupAnswer, Omit<Backup, 'path'>>(script, order, signal, ({ resolve, fail, child }, answer) => {
    if (answer.type === 'done') resolve({ bytes: answer.bytes, facts: answer.facts })
    else if (answer.type === 'failed') fail(`no backup was made: ${answer.problem}`)
    else
      roomFor(dirname(target), answer.bytes).then(
        (problem) => (problem === null ? child.send('go') : fail(`no backup was made: ${problem}`)),
        (error: unknown) => fail(`no backup was made: ${messageOf(error)}`),
      )
  })
  try {
    return { path: target, ...(await made) }
  } finally {
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

/** Suffixes of the files of a database, its `serve` lock and its mark file. */
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

/** Runs a script of this folder as a child process until it answers. @throws PermanentError if it fails; the reason of `signal` if aborted. */
export async function inProcess<Message, T>(
  file: string,
  order: object,
  signal: AbortSignal,
  onMessage: (answering: Answering<T>, message: Message) => void,
): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  const child = startGuarded(new URL(file, import.meta.url), { stderr: 'inherit' })
  const ended = once(child, 'exit')
  const fail = (problem: string) => reject(new PermanentError(problem))
  child.on('message', (message) => onMessage({ child, resolve, fail }, message as Message))
  child.on('error', (error) => fail(messageOf(error)))
  child.on('exit', () => fail(`the process ${basename(file)} ended unexpectedly`))
  child.send(order)
  try {
    return await abortable(promise, signal)
  } finally {
    // Not a thread, whose statement of minutes could not be stopped.
    child.kill('SIGKILL')
    await ended
  }
}

/** Checks free disk space, because a full disk would also stop the receiver. @returns the problem; null if the space suffices. */
export async function roomFor(folder: string, bytes: number): Promise<string | null> {
  const { bavail, bsize } = await statfs(folder)
  const free = bavail * bsize
  if (free > bytes) return null
  return `it needs ${megabytes(bytes)} and ${folder} has ${megabytes(free)} free; make room, or name another volume`
}

export function megabytes(bytes: number): string {
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(1)} GB`
}
