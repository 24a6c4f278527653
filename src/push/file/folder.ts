import { readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { abortable } from '../../base/abortable.ts'
import { createFile, syncFolder } from '../../base/durable-file.ts'
import { codeOf, messageOf, TransientError } from '../../base/errors.ts'
import { type Drop, type DropEntry, type DropTarget, UnwritableError } from './drop.ts'

/**
 * Number of files written at the same time. Only two, because a hanging call blocks one of the process's four threads
 * for files, DNS, and compression.
 */
const FILES_AT_ONCE = 2

/**
 * A local or mounted folder. A missing folder is never created, because a share may not be mounted. A new folder would
 * then be on the local disk.
 */
export function folderTarget(path: string): DropTarget {
  const abandoned = new Set<Promise<unknown>>()
  return { place: `the folder ${path}`, open: (signal) => openFolder(path, signal, abandoned) }
}

/** @param abandoned hanging calls of earlier attempts. While one of these calls hangs, every new attempt fails. */
async function openFolder(path: string, signal: AbortSignal, abandoned: Set<Promise<unknown>>): Promise<Drop> {
  if (abandoned.size > 0)
    throw new TransientError(`the folder ${path} does not answer: an earlier call still waits; check its disk or share`)
  // A call to an unresponsive share can't be aborted. The call keeps hanging and is remembered in `abandoned`.
  const attempt = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await abortable(work, signal)
    } catch (error) {
      if (error !== signal.reason) throw explained(path, error)
      abandoned.add(work)
      const end = () => abandoned.delete(work)
      work.then(end, end)
      throw error
    }
  }
  await attempt(mustBeFolder(path))
  return {
    atOnce: FILES_AT_ONCE,
    write: (name, chunks) => attempt(createFile(join(path, name), untilAborted(chunks, signal), { mode: 0o666 })),
    rename: (from, to) => attempt(rename(join(path, from), join(path, to))),
    sync: () => attempt(syncFolder(path)),
    read: (name) => attempt(readFile(join(path, name), 'utf8')),
    remove: (name) => attempt(rm(join(path, name), { force: true })),
    list: (wanted) => attempt(listFolder(path, wanted)),
    close: () => Promise.resolve(),
  }
}

async function mustBeFolder(path: string): Promise<void> {
  if (!(await stat(path)).isDirectory()) throw codeError('ENOTDIR')
}

async function* untilAborted(chunks: AsyncIterable<Buffer>, signal: AbortSignal): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    signal.throwIfAborted()
    yield chunk
  }
}

async function listFolder(path: string, wanted: (name: string) => boolean): Promise<readonly DropEntry[]> {
  const names = (await readdir(path)).filter(wanted)
  return Promise.all(names.map(async (name) => ({ name, modifiedMs: (await stat(join(path, name))).mtimeMs })))
}

const SENTENCES: Readonly<Record<string, (path: string) => string>> = {
  ENOENT: (path) => `the folder ${path} does not exist: create it, or mount its share`,
  ENOTDIR: (path) => `${path} is not a folder: set path to a folder`,
  EACCES: (path) => `no permission to write in ${path}: let the user of this process create, rename and remove files there`,
  EPERM: (path) => `no permission to write in ${path}: let the user of this process create, rename and remove files there`,
  EROFS: (path) => `${path} is read-only: mount it writable`,
  ENOSPC: (path) => `the disk of ${path} is full: free space`,
  EDQUOT: (path) => `the disk quota of ${path} is used up: raise it`,
  EFBIG: (path) => `a file in ${path} would exceed the limit of file sizes: lower max_rows`,
  ENAMETOOLONG: (path) => `the names of files in ${path} would be too long: shorten the destination's name`,
}

function explained(path: string, error: unknown): TransientError {
  const sentence = SENTENCES[codeOf(error)]
  if (sentence !== undefined) return new UnwritableError(sentence(path), { cause: error })
  return new TransientError(`cannot write in ${path}: ${messageOf(error)}`, { cause: error })
}

function codeError(code: string): Error {
  return Object.assign(new Error(code), { code })
}
