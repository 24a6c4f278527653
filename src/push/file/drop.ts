import { TransientError } from '../../base/errors.ts'

/** The folder or server answers that it can't be written. An administrator can repair each cause; none is the fault of a row. */
export class UnwritableError extends TransientError {}

/** A file in the folder. */
export interface DropEntry {
  readonly name: string
  /** Milliseconds since the epoch, by the clock of the folder's machine. */
  readonly modifiedMs: number
}

/**
 * A local or remote folder for files, opened for one batch.
 * Every method throws TransientError when a later attempt can help, UnwritableError when the folder refuses to be written, and PermanentError
 * when the login or the address is refused.
 * The message is one sentence.
 */
export interface Drop {
  /** How many files are written side by side. */
  readonly atOnce: number
  /** Creates a file, which must not exist, and makes its content durable. */
  write(name: string, chunks: AsyncIterable<Buffer>): Promise<void>
  /** Renames a file atomically. It replaces a file of that name, which has the same bytes: our names contain a hash. */
  rename(from: string, to: string): Promise<void>
  /** Makes renames durable, where that is possible. */
  sync(): Promise<void>
  /** @returns a small file as text. */
  read(name: string): Promise<string>
  /** Removes a file, if it exists. */
  remove(name: string): Promise<void>
  /** @returns the files for whose name `wanted` returns true. */
  list(wanted: (name: string) => boolean): Promise<readonly DropEntry[]>
  close(): Promise<void>
}

/** Where a destination's files go. */
export interface DropTarget {
  /** The place, for messages. */
  readonly place: string
  /** @param signal aborts opening, and everything that is done with the drop. */
  open(signal: AbortSignal): Promise<Drop>
}
