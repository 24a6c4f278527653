import { statSync } from 'node:fs'
import { TransientError } from '../../base/errors.ts'

/** Device and inode of a file. No other file can have them while it is open. '' when it does not exist; null when that cannot be told. */
type Identity = string | null

/** What to do about a file that only a running process still has. */
export const RECOVER_FILE =
  'move it back, or copy it out before that process ends (docker/runbook.md, "Deliveries cannot be stored"); a restart would begin without it'

/**
 * Detects that the open database file or its write-ahead log was deleted, moved or replaced. SQLite keeps writing without a word, but
 * whoever opens the database next finds nothing of it (invariant 1).
 */
export class FileIdentity {
  readonly #path: string
  readonly #opened: readonly { readonly file: string; readonly identity: Identity }[]

  /** @param path of a database whose log is already open. */
  constructor(path: string) {
    this.#path = path
    this.#opened = [path, `${path}-wal`].map((file) => ({ file, identity: identityOf(file) }))
  }

  /** @throws TransientError when another file, or none, lies at the path. It may be put back. */
  check(): void {
    for (const { file, identity } of this.#opened) {
      const found = identityOf(file)
      if (identity === null || found === null || found === identity) continue
      throw new TransientError(
        found === ''
          ? `${file} was deleted or moved while the program runs; only this process still has it: ${RECOVER_FILE}`
          : `${file} was replaced while the program runs; move the former file back, or restart the program to go on with the one at ${this.#path}`,
      )
    }
  }
}

/** Uses `stat` only: closing another handle of the file would drop SQLite's locks on it. */
function identityOf(file: string): Identity {
  try {
    const found = statSync(file, { throwIfNoEntry: false })
    return found ? `${found.dev}:${found.ino}` : ''
  } catch {
    // A process that may no longer look there can still write its open file.
    return null
  }
}
