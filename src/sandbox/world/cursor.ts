/** Where an item stands in its feed: oldest first by time, then by id. Every item lies after `beginning`. */
export interface Position {
  /** UTC text of fixed width, so that text order is time order. */
  readonly time: string
  readonly id: string
}

export const beginning: Position = { time: '', id: '' }

/** What a cursor holds: a position, and how many empty pages were answered there already. */
export interface Cursor {
  readonly position: Position
  readonly hops: number
}

/** Three bytes that base64 writes as `+/+/`: whoever forgets to percent-encode a cursor sends an invalid one. */
const PREFIX = Buffer.from([0xfb, 0xff, 0xbf])

/**
 * @param scope the feed and submission that the cursor belongs to; it is invalid anywhere else.
 * @returns opaque text that holds `+`, `/` and `=`, and is the same for the same position.
 */
export function encodeCursor(scope: string, cursor: Cursor): string {
  const text = [scope, cursor.position.time, cursor.position.id, cursor.hops].join('|')
  const bytes = Buffer.concat([PREFIX, Buffer.from(text)])
  const padded = bytes.length % 3 === 0 ? Buffer.concat([bytes, Buffer.from(' ')]) : bytes
  return padded.toString('base64')
}

/** @returns null when `text` is no cursor that was given out for `scope`. */
export function decodeCursor(scope: string, text: string): Cursor | null {
  const bytes = Buffer.from(text, 'base64')
  if (!bytes.subarray(0, PREFIX.length).equals(PREFIX)) return null
  const [owner, time, id, hops] = bytes.subarray(PREFIX.length).toString().trimEnd().split('|')
  if (owner !== scope || time === undefined || id === undefined || hops === undefined) return null
  const cursor = { position: { time, id }, hops: Number(hops) }
  return encodeCursor(scope, cursor) === text ? cursor : null
}
