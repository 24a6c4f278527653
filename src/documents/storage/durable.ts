import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { syncFolder } from '../../base/durable-file.ts'
import { codeOf, messageOf } from '../../base/errors.ts'
import { StorageUnavailable } from './errors.ts'

/** Creates a folder, with those above it, and makes its name durable. Nothing when it exists. */
export async function makeFolder(path: string): Promise<void> {
  const first = await mkdir(path, { recursive: true, mode: 0o700 })
  if (first === undefined) return
  for (let made = path; made.length >= first.length; made = dirname(made)) await syncFolder(dirname(made))
}

const RIGHTS = (path: string) =>
  `no permission to write in ${path}: let the user that this process runs as create, rename and remove files there`

const SENTENCES: Readonly<Record<string, (path: string) => string>> = {
  EACCES: RIGHTS,
  EPERM: RIGHTS,
  EROFS: (path) => `${path} is read-only: mount it writable, or name another folder in DOCUMENTS_DIR`,
  ENOSPC: (path) => `the disk of ${path} is full: free space there, or move the folder and name it in DOCUMENTS_DIR`,
  EDQUOT: (path) => `the disk quota of ${path} is used up: raise it, or move the folder and name it in DOCUMENTS_DIR`,
  EFBIG: (path) => `a file in ${path} may not be that large: raise the limit of file sizes of this process (ulimit -f)`,
  ENOTDIR: (path) => `${path} is not a folder: name a folder in DOCUMENTS_DIR`,
  EEXIST: (path) => `${path} is not a folder: name a folder in DOCUMENTS_DIR`,
  ENOENT: (path) => `the folder ${path} disappeared: mount its disk again`,
  EIO: (path) => `the disk of ${path} fails (EIO): check it, then restart`,
}

/** @returns an error whose sentence names the folder and says what to do. */
export function diskError(folder: string, error: unknown): StorageUnavailable {
  return new StorageUnavailable(SENTENCES[codeOf(error)]?.(folder) ?? `cannot keep documents in ${folder}: ${messageOf(error)}`, {
    cause: error,
  })
}
