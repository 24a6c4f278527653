import { type Answer, invalid, refusal } from './answers.ts'
import { beginning, type Cursor, decodeCursor, encodeCursor } from './cursor.ts'
import type { FaultBook, Occasion } from './faults.ts'
import type { Feed, Positioned } from './feeds.ts'

/** Which feed is asked for, and how. */
export interface PageRequest {
  readonly operation: 'events' | 'thread'
  /** The name of the list in the answer. */
  readonly listName: 'events' | 'messages'
  readonly maxLimit: number
  readonly account: string
  readonly submissionId: string
  /** Query values as they came. */
  readonly since: string | undefined
  readonly limit: string | undefined
}

const DEFAULT_LIMIT = 50
/** After so many empty pages in a row at one place a real one is given, whatever the faults say. */
const MAX_HOPS = 3

/**
 * Answers one page of a feed: strictly after the cursor, oldest first, `limit` clamped and not refused; `next_cursor`
 * is null at the end of the stream and only there.
 */
export function page<T extends Positioned>(feed: Feed<T>, request: PageRequest, faults: FaultBook): Answer {
  const limit = readLimit(request)
  if (limit === null) return invalid([{ loc: ['query', 'limit'], msg: 'Input should be a valid integer', type: 'int_parsing' }])
  const scope = `${request.operation}:${request.submissionId}`
  const occasion: Occasion = { operation: request.operation, account: request.account, submissionId: request.submissionId }
  const since = readSince(scope, request.since)
  if (since === null || (request.since && faults.draw(['invalid_cursor'], occasion))) return refusal(400, 'Invalid cursor')

  const answer = (items: readonly T[], next: Cursor | null): Answer => ({
    status: 200,
    body: { [request.listName]: items, next_cursor: next && encodeCursor(scope, next) },
  })
  if (faults.draw(['stuck_cursor'], occasion)) return answer([], since)
  if (since.hops < MAX_HOPS && faults.draw(['empty_page'], occasion)) return answer([], { ...since, hops: since.hops + 1 })

  const slice = feed.after(since.position, limit)
  if (slice.items.length > 0 && faults.draw(['short_page'], occasion)) {
    const short = feed.after(since.position, faults.int(1, slice.items.length))
    return answer(short.items, { position: short.end, hops: 0 })
  }
  return answer(slice.items, slice.more ? { position: slice.end, hops: 0 } : null)
}

/** @returns the clamped limit; null when it is no integer. */
function readLimit(request: PageRequest): number | null {
  if (request.limit === undefined) return DEFAULT_LIMIT
  if (!/^-?\d+$/.test(request.limit)) return null
  return Math.min(Math.max(Number(request.limit), 1), request.maxLimit)
}

function readSince(scope: string, since: string | undefined): Cursor | null {
  return since ? decodeCursor(scope, since) : { position: beginning, hops: 0 }
}
