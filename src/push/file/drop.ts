import { TransientError } from '../../base/errors.ts'

/** The folder or server can't be written. An administrator can fix each cause; no row is at fault. */
export class UnwritableError extends TransientError {}

export interface DropEntry {
  readonly name: string
  /** Milliseconds since the epoch, by the clock of the folder's machine. */
  readonly modifiedMs: number
}

/**
 * A local or remote folder for files, opened for one batch. Methods throw TransientError if a later attempt can help, UnwritableError if
 * the folder can't be written, and PermanentError if the login or the address is rejected.
 */
export interface Drop {
  /** Files written concurrently. */
  readonly atOnce: number
  /** Creates a file, which must not exist, and makes its content durable. */
  write(name: string, chunks: AsyncIterable<Buffer>): Promise<void>
  /** Renames a file atomically. It replaces a file of that name, which has the same bytes: our names contain a hash. */
  rename(from: string, to: string): Promise<void>
  /** Makes renames durable, if possible. */
  sync(): Promise<void>
  read(name: string): Promise<string>
  /** Removes a file, if it exists. */
  remove(name: string): Promise<void>
  list(wanted: (name: string) => boolean): Promise<readonly DropEntry[]>
  close(): Promise<void>
}

export interface DropTarget {
  /** For messages. */
  readonly place: string
  /** @param signal aborts opening, and everything that is done with the drop. */
  open(signal: AbortSignal): Promise<Drop>
}
