import { TransientError } from '../../base/errors.ts'

/** The folder or server isn't writable. An administrator can fix the cause; no row is at fault. */
export class UnwritableError extends TransientError {}

export interface DropEntry {
  readonly name: string
  /** Milliseconds since the epoch, by the folder machine's clock. */
  readonly modifiedMs: number
}

/**
 * A local or remote folder for files, opened for one batch. Methods throw TransientError if a retry can help, UnwritableError if the folder
 * isn't writable, and PermanentError if the login or address is rejected.
 */
export interface Drop {
  /** Files written concurrently. */
  readonly atOnce: number
  /** Creates a file and makes its content durable. The file must not exist. */
  write(name: string, chunks: AsyncIterable<Buffer>): Promise<void>
  /** Renames a file atomically, replacing an existing file. That file has the same bytes: names contain a hash. */
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
  /** Name for messages. */
  readonly place: string
  /** @param signal aborts opening and all later calls. */
  open(signal: AbortSignal): Promise<Drop>
}
