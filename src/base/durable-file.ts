import { open, rename, rm } from 'node:fs/promises'
import { codeOf } from './errors.ts'

/**
 * Creates a file that must not exist, and makes its content durable. Its name is durable once its folder is synced.
 * @param chunks its content.
 * @param mode its rights; what is kept for this user alone is 0o600.
 * @param onDisk awaits each call to the file system, to explain its error. What `chunks` throws passes by it.
 * @throws what the file system, `chunks` or `onDisk` throws.
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

/** Awaits one call to the file system; its error becomes a sentence. */
export type OnDisk = <T>(call: Promise<T>) => Promise<T>

/**
 * Writes a file in one step: a power failure leaves the old one or the new one, whole.
 * @param temporary the name of the new one until it is whole; nothing is left under it.
 * @param options as of `createFile`.
 * @throws what the file system throws.
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

/** Makes the content of a file durable that somebody else wrote. @throws what the file system throws. */
export async function syncFile(path: string): Promise<void> {
  const file = await open(path, 'r')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Makes what a folder names durable: a rename is once its folder is synced. @throws what the file system throws. */
export async function syncFolder(path: string): Promise<void> {
  try {
    await syncFile(path)
  } catch (error) {
    // Some file systems cannot sync a folder; they keep names durable by themselves.
    if (!['EINVAL', 'ENOTSUP', 'EOPNOTSUPP', 'EISDIR', 'EPERM'].includes(codeOf(error))) throw error
  }
}
