import { closeSync, fsyncSync, openSync } from 'node:fs'

/** Has what was written to a file, or into a folder, on the disk before it returns. @throws what the file system throws. */
export function syncFile(path: string): void {
  const handle = openSync(path, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
