import { closeSync, fsyncSync, openSync } from 'node:fs'

/** Flushes a file, or a folder's entries, to disk. @throws what the file system throws. */
export function syncFile(path: string): void {
  const handle = openSync(path, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
