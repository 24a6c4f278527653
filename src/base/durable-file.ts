import { open, rename, rm } from 'node:fs/promises'
import { codeOf } from './errors.ts'

/**
 * Creates a file and syncs its content; fails if it exists. To make the name durable, sync its folder.
 * @param mode file permissions; 0o600 for the current user only.
 * @param onDisk wraps each file system call, to explain its error. Errors of `chunks` bypass it.
 * @throws errors of the file system, `chunks` or `onDisk`.
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
 * Replaces a file atomically: after a power failure, either the old or the new content is complete.
 * @param temporary path of the incomplete new file; removed on failure.
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

/** Makes the content of an existing file durable. @throws what the file system throws. */
export async function syncFile(path: string): Promise<void> {
  const file = await open(path, 'r')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Makes the names in a folder durable, such as after a rename. @throws what the file system throws. */
export async function syncFolder(path: string): Promise<void> {
  try {
    await syncFile(path)
  } catch (error) {
    // Some file systems cannot sync a folder; they keep names durable anyway.
    if (!['EINVAL', 'ENOTSUP', 'EOPNOTSUPP', 'EISDIR', 'EPERM'].includes(codeOf(error))) throw error
  }
}
