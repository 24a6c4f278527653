/** An item's position in its feed, ordered by time, then id. Every item is after `feedStart`. */
export interface Position {
  /** UTC text of fixed width, which sorts by time. */
  readonly time: string
  readonly id: string
}

export const feedStart: Position = { time: '', id: '' }

/** The content of a cursor. `emptyPages`: consecutive empty pages answered at this position. */
export interface Cursor {
  readonly position: Position
  readonly emptyPages: number
}

/** Encoded as `+/+/`, so that a client that forgets to percent-encode a cursor sends an invalid one. */
const PREFIX = Buffer.from([0xfb, 0xff, 0xbf])

/**
 * @param scope the feed and submission of the cursor; it is invalid elsewhere.
 * @returns opaque text with `+`, `/` and `=`, always the same for the same position.
 */
export function encodeCursor(scope: string, cursor: Cursor): string {
  const text = [scope, cursor.position.time, cursor.position.id, cursor.emptyPages].join('|')
  const bytes = Buffer.concat([PREFIX, Buffer.from(text)])
  const padded = bytes.length % 3 === 0 ? Buffer.concat([bytes, Buffer.from(' ')]) : bytes
  return padded.toString('base64')
}

/** @returns null when `text` is not a cursor of `scope`. */
export function decodeCursor(scope: string, text: string): Cursor | null {
  const bytes = Buffer.from(text, 'base64')
  if (!bytes.subarray(0, PREFIX.length).equals(PREFIX)) return null
  const [owner, time, id, emptyPages] = bytes.subarray(PREFIX.length).toString().trimEnd().split('|')
  if (owner !== scope || time === undefined || id === undefined || emptyPages === undefined) return null
  const cursor = { position: { time, id }, emptyPages: Number(emptyPages) }
  return encodeCursor(scope, cursor) === text ? cursor : null
}
