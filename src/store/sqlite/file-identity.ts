import { statSync } from 'node:fs'
import { TransientError } from '../../base/errors.ts'

/** Device and inode of a file, unique while the file is open. '' if the file doesn't exist; null if unknown. */
type Identity = string | null

/** Advice: how to recover a deleted file that a process still has open. */
export const RECOVER_FILE =
  'move it back, or copy it out before that process ends (docker/runbook.md, "Deliveries cannot be stored"); a restart would begin without it'

/**
 * Detects that the database file or its log was deleted or replaced while open. SQLite would continue to write to the
 * old
 * file without an error.
 */
export class FileIdentity {
  readonly #path: string
  readonly #opened: readonly { readonly file: string; readonly identity: Identity }[]

  /** @param path path of a database whose log is open. */
  constructor(path: string) {
    this.#path = path
    this.#opened = [path, `${path}-wal`].map((file) => ({ file, identity: identityOf(file) }))
  }

  /** @throws TransientError if one of the paths now has another file or none. */
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

/** Uses `stat` only. Opening and closing the file again would drop SQLite's locks. */
function identityOf(file: string): Identity {
  try {
    const found = statSync(file, { throwIfNoEntry: false })
    return found ? `${found.dev}:${found.ino}` : ''
  } catch {
    // The path isn't accessible now. The process can still write to the open file.
    return null
  }
}
