import { open, rename, rm } from 'node:fs/promises'
import { codeOf } from './errors.ts'

/**
 * Creates a file and syncs its content to disk. To make the file's name durable too, call `syncFolder` for its folder.
 * @param mode file permissions; 0o600 for the current user only.
 * @param onDisk wraps the calls that open, write, and sync the file, for example to explain their errors. Errors of
 * `chunks` aren't passed to `onDisk`.
 * @throws an error if the file exists; errors of the file system, `chunks`, or `onDisk`.
 */
export async function createFile(
  path: string,
  chunks: Iterable<string> | AsyncIterable<Uint8Array>,
  { mode = 0o640, onDisk = (call) => call }: { readonly mode?: number; readonly onDisk?: OnDisk } = {},
): Promise<void> {
  const file = await onDisk(open(path, 'wx', mode))
  try {
    for await (const chunk of chunks) await onDisk(file.writeFile(chunk))
    await onDisk(file.sync())
  } finally {
    await file.close()
  }
}

export type OnDisk = <T>(call: Promise<T>) => Promise<T>

/**
 * Replaces a file atomically. After a power failure, the file has either all of the old content or all of
 * the new content.
 * @param temporary path of the new file until it is complete; removed on failure.
 * @throws errors of the file system.
 */
export async function replaceFile(
  path: string,
  temporary: string,
  content: string,
  options: { readonly mode?: number } = {},
): Promise<void> {
  await rm(temporary, { force: true })
  try {
    await createFile(temporary, [content], options)
    await rename(temporary, path)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}

/** Syncs the content of an existing file to disk. @throws errors of the file system. */
export async function syncFile(path: string): Promise<void> {
  const file = await open(path, 'r')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}

/**
 * Syncs a folder to disk, so that files keep their new names after a power failure.
 * @throws errors of the file system.
 */
export async function syncFolder(path: string): Promise<void> {
  try {
    await syncFile(path)
  } catch (error) {
    // Some file systems don't support syncing a folder. Such file systems keep new names without a sync.
    if (!['EINVAL', 'ENOTSUP', 'EOPNOTSUPP', 'EISDIR', 'EPERM'].includes(codeOf(error))) throw error
  }
}
