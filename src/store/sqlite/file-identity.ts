import { statSync } from 'node:fs'
import { TransientError } from '../../base/errors.ts'

/** Device and inode, unique while the file is open; '' when it does not exist; null when unknown. */
type Identity = string | null

/** How to recover a deleted file that a process has open. */
export const RECOVER_FILE =
  'move it back, or copy it out before that process ends (docker/runbook.md, "Deliveries cannot be stored"); a restart would begin without it'

/**
 * Detects that the open database file or its log was deleted or replaced. SQLite would continue to write to the old file without errors.
 */
export class FileIdentity {
  readonly #path: string
  readonly #opened: readonly { readonly file: string; readonly identity: Identity }[]

  /** @param path of a database with an open log. */
  constructor(path: string) {
    this.#path = path
    this.#opened = [path, `${path}-wal`].map((file) => ({ file, identity: identityOf(file) }))
  }

  /** @throws TransientError if a path now has a different file or none. */
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

/** Uses only `stat`: closing a second handle of the file drops SQLite's locks. */
function identityOf(file: string): Identity {
  try {
    const found = statSync(file, { throwIfNoEntry: false })
    return found ? `${found.dev}:${found.ino}` : ''
  } catch {
    // Without access to the path, the process can still write to the file.
    return null
  }
}
