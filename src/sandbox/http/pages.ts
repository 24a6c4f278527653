import type { FaultBook, Occasion } from '../service/faults.ts'
import { beginning, type Cursor, decodeCursor, encodeCursor } from '../world/cursor.ts'
import type { Feed, Positioned } from '../world/feeds.ts'
import { type Answer, invalid, refusal } from './answers.ts'

/** How a submission is asked for. */
export interface PageRequest {
  readonly account: string
  readonly submissionId: string
  /** Query values as they came. */
  readonly since: string | undefined
  readonly limit: string | undefined
}

/** The name of each feed's list in the answer, and the most that a page holds. */
const shapes = { events: { list: 'events', maxLimit: 100 }, thread: { list: 'messages', maxLimit: 200 } } as const
const DEFAULT_LIMIT = 50
/** After so many empty pages in a row at one place a real one is given, whatever the faults say. */
const MAX_HOPS = 3

/**
 * Answers one page of a feed: strictly after the cursor, oldest first, `limit` clamped and not refused; `next_cursor`
 * is null at the end of the stream and only there.
 */
export function page<T extends Positioned>(name: keyof typeof shapes, feed: Feed<T>, request: PageRequest, faults: FaultBook): Answer {
  const { list, maxLimit } = shapes[name]
  const limit = readLimit(request.limit, maxLimit)
  if (limit === null) return invalid([{ loc: ['query', 'limit'], msg: 'Input should be a valid integer', type: 'int_parsing' }])
  const scope = `${name}:${request.submissionId}`
  const occasion: Occasion = { operation: name, account: request.account, submissionId: request.submissionId }
  const since = readSince(scope, request.since)
  if (since === null || (request.since && faults.draw(['invalid_cursor'], occasion))) return refusal(400, 'Invalid cursor')

  const answer = (items: readonly T[], next: Cursor | null): Answer => ({
    status: 200,
    body: { [list]: items, next_cursor: next && encodeCursor(scope, next) },
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
function readLimit(limit: string | undefined, maxLimit: number): number | null {
  if (limit === undefined) return DEFAULT_LIMIT
  if (!/^-?\d+$/.test(limit)) return null
  return Math.min(Math.max(Number(limit), 1), maxLimit)
}

function readSince(scope: string, since: string | undefined): Cursor | null {
  return since ? decodeCursor(scope, since) : { position: beginning, hops: 0 }
}
