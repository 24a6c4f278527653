import type { Applied } from '../apply/apply.ts'
import type { Priority } from '../base/limiter.ts'
import type { EventFact, MessageFact, Origin, Place } from '../model/facts.ts'
import type { Feed } from '../model/reads.ts'
import type { TimeText } from '../model/time.ts'
import type { Unreadable } from '../store/mirror/evidence.ts'
import type { UpstreamClient } from '../upstream/client.ts'
import { readEvent, readMessage } from '../upstream/wire/feeds.ts'
import { rawOf } from '../upstream/wire/fields.ts'

/** One page of a feed, parsed. */
export interface FeedPage {
  readonly facts: readonly (EventFact | MessageFact)[]
  /** Items that do not match the spec. They are kept and never stop the walk. */
  readonly unreadable: readonly Unreadable[]
  readonly nextCursor: string | null
  /** Whether the page says null, and does not merely leave its cursor out. */
  readonly isEndTold: boolean
  /** The time of the newest item on the page. */
  readonly newestAt: TimeText | null
}

/** A walk: which feed, from where, and why. */
export interface Walk extends Place, Origin {
  readonly read: Feed
  /** The cursor to continue from; null starts at the beginning. */
  readonly since: string | null
  /** `live` when left out. */
  readonly priority?: Priority
}

/** Why a walk ended before the end of the feed. */
export interface Stall {
  readonly reason: string
  /** Each attempt costs many requests, so the next one waits longer. */
  readonly isCostly: boolean
}

/** How a walk ended: at the end of the feed, or because the service's cursors lead nowhere (trap 2). */
export interface WalkEnd {
  readonly stall: Stall | null
  /** Whether the service said that it was the end. */
  readonly isEndTold: boolean
  readonly pages: number
  /** Records that were not known before. */
  readonly inserted: number
  readonly newestAt: TimeText | null
}

/** Limit of pages in one walk. */
const MAX_PAGES = 100_000
/** Limit of empty pages in a row. A page may be empty; a feed of nothing else, with ever new cursors, would take every request. */
const MAX_EMPTY_PAGES = 200

/**
 * Walks a feed page by page until `next_cursor` is null (traps 1 to 3). The next page is fetched while one is applied. Pages are committed
 * in order, each with its cursor.
 * @param commit applies a page and stores its cursor, in one transaction. `end` is set with the last page.
 * @throws errors of the client and of `commit`.
 */
export async function walkFeed(
  client: UpstreamClient,
  walk: Walk,
  commit: (page: FeedPage, end: WalkEnd | null) => Promise<Applied>,
  signal: AbortSignal,
): Promise<WalkEnd> {
  let inserted = 0
  let newestAt: TimeText | null = null
  let emptyPages = 0
  const seen = new Set([walk.since])
  let page = await fetchPage(client, walk, walk.since, signal)
  for (let pages = 1; ; pages++) {
    emptyPages = page.facts.length + page.unreadable.length === 0 ? emptyPages + 1 : 0
    const stall = stallOf(page.nextCursor, seen, pages, emptyPages)
    seen.add(page.nextCursor)
    const last = page.nextCursor === null || stall !== null
    // An empty cursor would start again from the beginning; it is never stored.
    if (page.nextCursor === '') page = { ...page, nextCursor: null }
    if (page.newestAt !== null && (newestAt === null || page.newestAt > newestAt)) newestAt = page.newestAt
    const next = last ? null : prefetch(fetchPage(client, { ...walk, pagesBefore: true }, page.nextCursor, signal))
    const end: WalkEnd | null = last ? { stall, isEndTold: page.isEndTold, pages, inserted, newestAt } : null
    inserted += (await commit(page, end)).inserted
    if (end !== null) return { ...end, inserted }
    page = await (next as Promise<FeedPage>)
  }
}

/** @param seen cursors of this walk: any earlier one counts, for pages may form a loop. */
function stallOf(cursor: string | null, seen: ReadonlySet<string | null>, pages: number, emptyPages: number): Stall | null {
  if (cursor === null) return null
  if (cursor === '') return { reason: 'the service returned an empty cursor', isCostly: false }
  if (seen.has(cursor)) return { reason: 'the service returned the same cursor again and nothing after it', isCostly: false }
  if (emptyPages >= MAX_EMPTY_PAGES)
    return { reason: `the service returned ${emptyPages} empty pages in a row, each with a new cursor`, isCostly: true }
  return pages < MAX_PAGES ? null : { reason: `the service returned ${pages} pages and no end`, isCostly: true }
}

async function fetchPage(client: UpstreamClient, walk: Walk, since: string | null, signal: AbortSignal): Promise<FeedPage> {
  const { account, submissionId, via, cause, fromReplay, firstWalk, pagesBefore = false, priority } = walk
  const page = await client[walk.read](submissionId, since, signal, priority)
  const from = { account, submissionId, via, cause, fromReplay, firstWalk, pagesBefore }
  const facts: (EventFact | MessageFact)[] = []
  const unreadable: Unreadable[] = []
  let newestAt: TimeText | null = null
  for (const raw of page.items) {
    const event = walk.read === 'events' ? readEvent(raw) : null
    const message = walk.read === 'thread' ? readMessage(raw) : null
    if (event) facts.push({ kind: 'event', event, ...from })
    else if (message) facts.push({ kind: 'message', message, ...from })
    else unreadable.push({ account, submission_id: submissionId, read: walk.read, raw: rawOf(raw) ?? 'null' })
    const at = event?.occurred_at ?? message?.message.occurred_at ?? null
    if (at !== null && (newestAt === null || at > newestAt)) newestAt = at
  }
  return { facts, unreadable, nextCursor: page.nextCursor, isEndTold: page.isEndTold, newestAt }
}

/** A prefetched page may fail before anyone awaits it. The error surfaces when it is awaited. */
function prefetch(page: Promise<FeedPage>): Promise<FeedPage> {
  page.catch(() => undefined)
  return page
}
