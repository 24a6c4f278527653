import type { Applied } from '../apply/apply.ts'
import type { Priority } from '../base/limiter.ts'
import type { EventObservation, MessageObservation, Origin, SubmissionRef } from '../model/observations.ts'
import type { Feed } from '../model/reads.ts'
import type { TimeText } from '../model/time.ts'
import type { Unreadable } from '../store/mirror/conflicts.ts'
import type { UpstreamClient } from '../upstream/client.ts'
import { readEvent, readMessage } from '../upstream/wire/feeds.ts'
import { rawOf } from '../upstream/wire/fields.ts'

export interface FeedPage {
  readonly observations: readonly (EventObservation | MessageObservation)[]
  /** Malformed items. The caller stores them, and the read continues. */
  readonly unreadable: readonly Unreadable[]
  readonly nextCursor: string | null
  /**
   * Whether the page has `next_cursor: null`. A missing `next_cursor` also ends the read, but doesn't confirm the end.
   */
  readonly isEndConfirmed: boolean
  /** Time of the newest item on this page; null if no item has a time. */
  readonly newestAt: TimeText | null
}

/** A feed read: which feed, from where, and why. */
export interface FeedRead extends SubmissionRef, Origin {
  readonly read: Feed
  /** Start cursor. Null reads from the beginning. */
  readonly since: string | null
  /** Default: `live`. */
  readonly priority?: Priority
}

/** Why a feed read ended early. `isCostly`: the read used many requests, so the next attempt waits longer. */
interface Stall {
  readonly reason: string
  readonly isCostly: boolean
}

/**
 * Result of a feed read. `stall` is set if the read stopped before the end of the feed. For example, a cursor repeated
 * (trap 2).
 */
export interface FeedReadEnd {
  readonly stall: Stall | null
  /** Whether the last page had `next_cursor: null`. */
  readonly isEndConfirmed: boolean
  readonly pages: number
  /** Number of new records. */
  readonly inserted: number
  readonly newestAt: TimeText | null
}

const MAX_PAGES = 100_000
/** Limit of empty pages in a row. */
const MAX_EMPTY_PAGES = 200

/**
 * Reads a feed page by page until `next_cursor` is null (traps 1 to 3), or until the feed stalls. Fetches the next page
 * while the current page is applied. Pages are committed in order.
 * @param commit applies a page and stores its cursor, in one transaction. For the last page, `end` is the result of the
 * read, and its `inserted` doesn't include this page. For other pages, `end` is null.
 * @throws errors of the client and of `commit`.
 */
export async function readFeedPages(
  client: UpstreamClient,
  walk: FeedRead,
  commit: (page: FeedPage, end: FeedReadEnd | null) => Promise<Applied>,
  signal: AbortSignal,
): Promise<FeedReadEnd> {
  let inserted = 0
  let newestAt: TimeText | null = null
  let emptyPages = 0
  const seen = new Set([walk.since])
  let page = await fetchPage(client, walk, walk.since, signal)
  for (let pages = 1; ; pages++) {
    emptyPages = page.observations.length + page.unreadable.length === 0 ? emptyPages + 1 : 0
    const stall = stallOf(page.nextCursor, seen, pages, emptyPages)
    seen.add(page.nextCursor)
    const last = page.nextCursor === null || stall !== null
    // An empty cursor is never stored. With an empty cursor, the next read would begin at the start of the feed.
    if (page.nextCursor === '') page = { ...page, nextCursor: null }
    if (page.newestAt !== null && (newestAt === null || page.newestAt > newestAt)) newestAt = page.newestAt
    const next = last ? null : prefetch(fetchPage(client, { ...walk, pagesBefore: true }, page.nextCursor, signal))
    const end: FeedReadEnd | null = last ? { stall, isEndConfirmed: page.isEndConfirmed, pages, inserted, newestAt } : null
    inserted += (await commit(page, end)).inserted
    if (end !== null) return { ...end, inserted }
    page = await (next as Promise<FeedPage>)
  }
}

/**
 * @returns why the read must end early; null if the read can continue or is complete.
 * @param seen all earlier cursors of this feed read. A repeated cursor means a loop.
 */
function stallOf(cursor: string | null, seen: ReadonlySet<string | null>, pages: number, emptyPages: number): Stall | null {
  if (cursor === null) return null
  if (cursor === '') return { reason: 'the service returned an empty cursor', isCostly: false }
  if (seen.has(cursor)) return { reason: 'the service returned the same cursor again and nothing after it', isCostly: false }
  if (emptyPages >= MAX_EMPTY_PAGES)
    return { reason: `the service returned ${emptyPages} empty pages in a row, each with a new cursor`, isCostly: true }
  return pages < MAX_PAGES ? null : { reason: `the service returned ${pages} pages and no end`, isCostly: true }
}

async function fetchPage(client: UpstreamClient, walk: FeedRead, since: string | null, signal: AbortSignal): Promise<FeedPage> {
  const { account, submissionId, via, cause, isFullRead, firstFeedRead, pagesBefore = false, priority } = walk
  const page = await client[walk.read](submissionId, since, signal, priority)
  const from = { account, submissionId, via, cause, isFullRead, firstFeedRead, pagesBefore }
  const observations: (EventObservation | MessageObservation)[] = []
  const unreadable: Unreadable[] = []
  let newestAt: TimeText | null = null
  for (const raw of page.items) {
    const event = walk.read === 'events' ? readEvent(raw) : null
    const message = walk.read === 'thread' ? readMessage(raw) : null
    if (event) observations.push({ kind: 'event', event, ...from })
    else if (message) observations.push({ kind: 'message', message, ...from })
    else unreadable.push({ account, submission_id: submissionId, read: walk.read, raw: rawOf(raw) ?? 'null' })
    const at = event?.occurred_at ?? message?.message.occurred_at ?? null
    if (at !== null && (newestAt === null || at > newestAt)) newestAt = at
  }
  return { observations, unreadable, nextCursor: page.nextCursor, isEndConfirmed: page.isEndConfirmed, newestAt }
}

/**
 * Prevents an unhandled rejection if fetching fails before the caller awaits the page. The caller still gets the error.
 */
function prefetch(page: Promise<FeedPage>): Promise<FeedPage> {
  page.catch(() => undefined)
  return page
}
