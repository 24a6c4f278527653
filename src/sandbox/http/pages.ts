import type { FaultContext, FaultInjector } from '../service/faults.ts'
import { invalid, Refusal } from '../service/refusal.ts'
import type { Unshown } from '../service/unshown.ts'
import { type Cursor, decodeCursor, encodeCursor, feedStart } from '../world/cursor.ts'
import type { Feed, Positioned } from '../world/feeds.ts'
import { type Answer, refusalAnswer } from './answers.ts'

interface PageRequest {
  readonly account: string
  readonly submissionId: string
  /** Query parameters as sent, not yet parsed. */
  readonly since: string | undefined
  readonly limit: string | undefined
}

const shapes = { events: { list: 'events', maxLimit: 100 }, thread: { list: 'messages', maxLimit: 200 } } as const
const DEFAULT_LIMIT = 50
const MAX_EMPTY_PAGES = 3

/**
 * @returns the answer with one page of a feed: items after the cursor, oldest first. A `limit` outside its range is
 * clamped.
 * `next_cursor` is null only at the end of the feed.
 */
export function page<T extends Positioned>(
  name: keyof typeof shapes,
  feed: Feed<T>,
  request: PageRequest,
  { faults, unshown }: { readonly faults: FaultInjector; readonly unshown: Unshown },
): Answer {
  const { list, maxLimit } = shapes[name]
  const limit = readLimit(request.limit, maxLimit)
  if (limit === null)
    return refusalAnswer(invalid(['query', 'limit'], 'Input should be a valid integer', 'int_parsing', 'bad_limit'), unshown)
  const scope = `${name}:${request.submissionId}`
  const context: FaultContext = { operation: name, account: request.account, submissionId: request.submissionId }
  const since = readSince(scope, request.since)
  if (since === null || (request.since && faults.draw(['invalid_cursor'], context)))
    return refusalAnswer(new Refusal('invalid_cursor', 'Invalid cursor'), unshown)

  const answer = (items: readonly T[], next: Cursor | null): Answer => ({
    status: 200,
    body: { [list]: items, next_cursor: next && encodeCursor(scope, next) },
  })
  if (faults.draw(['stuck_cursor'], context)) return answer([], since)
  if (since.emptyPages < MAX_EMPTY_PAGES && faults.draw(['empty_page'], context))
    return answer([], { ...since, emptyPages: since.emptyPages + 1 })

  const slice = feed.after(since.position, limit)
  if (slice.items.length > 0 && faults.draw(['short_page'], context)) {
    const short = feed.after(since.position, faults.int(1, slice.items.length))
    return answer(short.items, { position: short.end, emptyPages: 0 })
  }
  if (!slice.more && faults.draw(['no_next_cursor'], context)) return { status: 200, body: { [list]: slice.items } }
  return answer(slice.items, slice.more ? { position: slice.end, emptyPages: 0 } : null)
}

function readLimit(limit: string | undefined, maxLimit: number): number | null {
  if (limit === undefined) return DEFAULT_LIMIT
  if (!/^-?\d+$/.test(limit)) return null
  return Math.min(Math.max(Number(limit), 1), maxLimit)
}

function readSince(scope: string, since: string | undefined): Cursor | null {
  return since ? decodeCursor(scope, since) : { position: feedStart, emptyPages: 0 }
}
