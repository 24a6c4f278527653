import { statSync } from 'node:fs'
import { TransientError } from '../../base/errors.ts'

/** What a file is, whatever it is called: no other file has it as long as this one is open. '' for none; null where it cannot be told. */
type Identity = string | null

/** What to do about a file that only a running process still has. */
export const RECOVER_FILE =
  'move it back, or copy it out before that process ends, as docker/runbook.md, "Deliveries cannot be stored", tells; a new start would begin without it'

/**
 * The file of a database that is open, and its write-ahead log. Deleted, moved or replaced by somebody they can be written on, and SQLite
 * says nothing; but whoever opens the database next finds nothing of what was written since (invariant 1).
 */
export class FileIdentity {
  readonly #path: string
  readonly #opened: readonly { readonly file: string; readonly identity: Identity }[]

  /** @param path of a database whose log is open already. */
  constructor(path: string) {
    this.#path = path
    this.#opened = [path, `${path}-wal`].map((file) => ({ file, identity: identityOf(file) }))
  }

  /** @throws TransientError when another file, or none, lies where the one lay that is open: it may be put back. */
  check(): void {
    for (const { file, identity } of this.#opened) {
      const found = identityOf(file)
      if (identity === null || found === null || found === identity) continue
      throw new TransientError(
        found === ''
          ? `${file} was deleted or moved under the running program, which alone has it now: ${RECOVER_FILE}`
          : `${file} was replaced under the running program; move back the one of before, or restart the program, which then goes on with what lies at ${this.#path}`,
      )
    }
  }
}

/** It asks the system for its name alone: to close a file once more would end the locks that SQLite has on it. */
function identityOf(file: string): Identity {
  try {
    const found = statSync(file, { throwIfNoEntry: false })
    return found ? `${found.dev}:${found.ino}` : ''
  } catch {
    // Whoever may not look there any more can still write what is open.
    return null
  }
}
