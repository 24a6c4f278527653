import { TransientError } from '../../base/errors.ts'

/** The folder or server isn't writable, until an administrator fixes the cause. No row is at fault. */
export class UnwritableError extends TransientError {}

export interface DropEntry {
  readonly name: string
  /** Milliseconds since the epoch, by the clock of the machine with the folder. */
  readonly modifiedMs: number
}

/**
 * A local or remote folder for files, opened for one batch. The methods throw these errors:
 * - TransientError if a retry can help
 * - UnwritableError if the folder isn't writable
 * - PermanentError if the login or address is rejected
 */
export interface Drop {
  /** Number of files written at the same time. */
  readonly atOnce: number
  /** Creates a file and makes its content durable. The file must not exist. */
  write(name: string, chunks: AsyncIterable<Buffer>): Promise<void>
  /**
   * Renames a file atomically. If a file with the new name exists, replaces that file. Both files have the same bytes,
   * because names contain a hash.
   */
  rename(from: string, to: string): Promise<void>
  /** Makes renames durable, if possible. */
  sync(): Promise<void>
  read(name: string): Promise<string>
  /** Removes a file if it exists. */
  remove(name: string): Promise<void>
  list(wanted: (name: string) => boolean): Promise<readonly DropEntry[]>
  close(): Promise<void>
}

export interface DropTarget {
  /** Description of the folder or server, for messages. */
  readonly place: string
  /** @param signal aborts opening and all later calls. */
  open(signal: AbortSignal): Promise<Drop>
}
