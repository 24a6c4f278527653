/** Position in a feed, ordered by time, then id. `feedStart` precedes every item. */
export interface Position {
  /** Sortable UTC text. */
  readonly time: string
  readonly id: string
}

export const feedStart: Position = { time: '', id: '' }

/** `emptyPages`: consecutive empty pages at this position. */
export interface Cursor {
  readonly position: Position
  readonly emptyPages: number
}

/** Encoded as `+/+/`, so that a cursor without percent-encoding is invalid. */
const PREFIX = Buffer.from([0xfb, 0xff, 0xbf])

/**
 * @param scope feed and submission; the cursor is invalid elsewhere.
 * @returns opaque text with `+`, `/` and `=`, deterministic.
 */
export function encodeCursor(scope: string, cursor: Cursor): string {
  const text = [scope, cursor.position.time, cursor.position.id, cursor.emptyPages].join('|')
  const bytes = Buffer.concat([PREFIX, Buffer.from(text)])
  const padded = bytes.length % 3 === 0 ? Buffer.concat([bytes, Buffer.from(' ')]) : bytes
  return padded.toString('base64')
}

/** @returns null if `text` isn't a cursor of `scope`. */
export function decodeCursor(scope: string, text: string): Cursor | null {
  const bytes = Buffer.from(text, 'base64')
  if (!bytes.subarray(0, PREFIX.length).equals(PREFIX)) return null
  const [owner, time, id, emptyPages] = bytes.subarray(PREFIX.length).toString().trimEnd().split('|')
  if (owner !== scope || time === undefined || id === undefined || emptyPages === undefined) return null
  const cursor = { position: { time, id }, emptyPages: Number(emptyPages) }
  return encodeCursor(scope, cursor) === text ? cursor : null
}
