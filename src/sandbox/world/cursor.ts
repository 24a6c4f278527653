/** Position in a feed, ordered by time, then id. `feedStart` comes before every item. */
export interface Position {
  /** UTC time as text that sorts in order of time. */
  readonly time: string
  readonly id: string
}

export const feedStart: Position = { time: '', id: '' }

/** `emptyPages` is the number of consecutive empty pages at this position. */
export interface Cursor {
  readonly position: Position
  readonly emptyPages: number
}

/**
 * In base64, these bytes are `+/+/`. If a client sends a cursor without percent-encoding, `+` becomes a space, and the
 * cursor is invalid.
 */
const PREFIX = Buffer.from([0xfb, 0xff, 0xbf])

/**
 * @param scope feed and submission. The cursor is invalid for any other scope.
 * @returns the cursor as opaque text, which contains `+`, `/`, and `=`. The same cursor always gives the same text.
 */
export function encodeCursor(scope: string, cursor: Cursor): string {
  const text = [scope, cursor.position.time, cursor.position.id, cursor.emptyPages].join('|')
  const bytes = Buffer.concat([PREFIX, Buffer.from(text)])
  const padded = bytes.length % 3 === 0 ? Buffer.concat([bytes, Buffer.from(' ')]) : bytes
  return padded.toString('base64')
}

/** @returns the cursor; null if `text` isn't a cursor of this scope. */
export function decodeCursor(scope: string, text: string): Cursor | null {
  const bytes = Buffer.from(text, 'base64')
  if (!bytes.subarray(0, PREFIX.length).equals(PREFIX)) return null
  const [owner, time, id, emptyPages] = bytes.subarray(PREFIX.length).toString().trimEnd().split('|')
  if (owner !== scope || time === undefined || id === undefined || emptyPages === undefined) return null
  const cursor = { position: { time, id }, emptyPages: Number(emptyPages) }
  return encodeCursor(scope, cursor) === text ? cursor : null
}
