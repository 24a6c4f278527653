import { statSync } from 'node:fs'
import { TransientError } from '../../base/errors.ts'

/**
 * Device and inode of a file, which identify the file while it is open. '' if the path has no file; null if the path
 * can't be read.
 */
type Identity = string | null

/** Advice in an error: how to recover a file that was deleted while a process has it open. */
export const RECOVER_FILE =
  'move it back, or copy it out before that process ends (docker/runbook.md, "Deliveries cannot be stored"); a restart would begin without it'

/**
 * Detects that the database file or its log was deleted or replaced while this process has it open. Otherwise SQLite
 * would continue to write to the old file without an error.
 */
export class FileIdentity {
  readonly #path: string
  readonly #opened: readonly { readonly file: string; readonly identity: Identity }[]

  /** @param path path of a database whose log is already open. */
  constructor(path: string) {
    this.#path = path
    this.#opened = [path, `${path}-wal`].map((file) => ({ file, identity: identityOf(file) }))
  }

  /** @throws TransientError if the database or its log is now missing, or is another file. */
  check(): void {
    for (const { file, identity } of this.#opened) {
      const found = identityOf(file)
      if (identity === null || found === null || found === identity) continue
      throw new TransientError(
        found === ''
          ? `${file} was deleted or moved while the program runs; only this process still has it: ${RECOVER_FILE}`
          : `${file} was replaced while the program runs; move the original file back, or restart the program to continue with the one at ${this.#path}`,
      )
    }
  }
}

/** Reads the identity with `stat`. Opening and closing the file would release SQLite's locks on it. */
function identityOf(file: string): Identity {
  try {
    const found = statSync(file, { throwIfNoEntry: false })
    return found ? `${found.dev}:${found.ino}` : ''
  } catch {
    // The path can't be read now, but the process can still write to its open file.
    return null
  }
}
