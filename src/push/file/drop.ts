/** A file that lies in the folder. */
export interface DropEntry {
  readonly name: string
  /** Milliseconds since the epoch, by the clock of whoever keeps the folder. */
  readonly modifiedMs: number
}

/**
 * A folder that files are put into, near or far, opened for one batch.
 * Whatever fails does so with a TransientError when a later try can help, and with a PermanentError when nothing can be written until
 * an operator has acted; its message is one sentence.
 */
export interface Drop {
  /** Creates a file, which must not exist, and makes what it holds durable. */
  write(name: string, chunks: AsyncIterable<Buffer>): Promise<void>
  /** Gives a file its final name at once, in place of one that has that name and, as all of ours do, the same bytes. */
  rename(from: string, to: string): Promise<void>
  /** Makes renames durable, where that is in our hands. */
  sync(): Promise<void>
  /** Removes a file; one that is not there is no failure. */
  remove(name: string): Promise<void>
  /** @returns the files whose names are wanted. */
  list(wanted: (name: string) => boolean): Promise<readonly DropEntry[]>
  close(): Promise<void>
}

/** Where a destination's files go. */
export interface DropTarget {
  /** The place in words, for messages. */
  readonly place: string
  /** @param signal breaks off opening, and whatever is done with the drop. */
  open(signal: AbortSignal): Promise<Drop>
}
