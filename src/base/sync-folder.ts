import { type FileHandle, open } from 'node:fs/promises'
import { codeOf } from './errors.ts'

/** Makes what a folder names durable: a rename is once its folder is synced. @throws what the file system throws. */
export async function syncFolder(path: string): Promise<void> {
  let folder: FileHandle | undefined
  try {
    folder = await open(path, 'r')
    await folder.sync()
  } catch (error) {
    // Some file systems cannot sync a folder; they keep names durable by themselves.
    if (!['EINVAL', 'ENOTSUP', 'EOPNOTSUPP', 'EISDIR', 'EPERM'].includes(codeOf(error))) throw error
  } finally {
    await folder?.close()
  }
}
