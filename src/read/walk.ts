import type { Applied } from '../apply/apply.ts'
import type { Priority } from '../base/limiter.ts'
import type { EventFact, MessageFact, Origin, Place } from '../model/facts.ts'
import type { Feed } from '../model/reads.ts'
import type { TimeText } from '../model/time.ts'
import type { Unreadable } from '../store/mirror/evidence.ts'
import type { UpstreamClient } from '../upstream/client.ts'
import { rawOf } from '../upstream/wire/fields.ts'
import { readEvent, readMessage } from '../upstream/wire/wire.ts'

/** A page of a feed, read. */
export interface FeedPage {
  readonly facts: readonly (EventFact | MessageFact)[]
  /** Items that are not what the spec says; they are kept, and hold up nothing. */
  readonly unreadable: readonly Unreadable[]
  readonly nextCursor: string | null
  /** The time of the newest item on the page. */
  readonly newestAt: TimeText | null
}

/** A walk: which feed, from where, and how its items came. */
export interface Walk extends Place, Origin {
  readonly read: Feed
  /** The cursor to begin behind; null begins at the beginning. */
  readonly since: string | null
  /** `live` when left out. */
  readonly priority?: Priority
}

/** How a walk ended: at the end of the feed, or at a cursor that was given before, so that the feed does not move on (trap 2). */
export interface WalkEnd {
  readonly ended: 'complete' | 'stalled'
  readonly pages: number
  /** How many records were not known before. */
  readonly inserted: number
  readonly newestAt: TimeText | null
}

/** No feed is read on for more pages than this in one walk. */
const MAX_PAGES = 100_000

/**
 * Walks a feed page by page until `next_cursor` is null (traps 1 to 3). The next page is asked for while one is being applied; pages are
 * committed in their order, each with its cursor.
 * @param commit applies a page and marks it, in one transaction. `end` is given with the last page: the feed ends or does not move on.
 * @throws what the client throws, and what `commit` throws.
 */
export async function walkFeed(
  client: UpstreamClient,
  walk: Walk,
  commit: (page: FeedPage, end: WalkEnd | null) => Promise<Applied>,
  signal: AbortSignal,
): Promise<WalkEnd> {
  let inserted = 0
  let newestAt: TimeText | null = null
  const met = new Set([walk.since])
  let page = await fetchPage(client, walk, walk.since, signal)
  for (let pages = 1; ; pages++) {
    // Pages may lead round in a circle, too, not only to where they began.
    const stands = page.nextCursor !== null && met.has(page.nextCursor)
    met.add(page.nextCursor)
    const last = page.nextCursor === null || stands || pages >= MAX_PAGES
    if (page.newestAt !== null && (newestAt === null || page.newestAt > newestAt)) newestAt = page.newestAt
    const ahead = last ? null : prefetch(fetchPage(client, { ...walk, pagesBefore: true }, page.nextCursor, signal))
    const end: WalkEnd | null = last ? { ended: page.nextCursor === null ? 'complete' : 'stalled', pages, inserted, newestAt } : null
    inserted += (await commit(page, end)).inserted
    if (end !== null) return { ...end, inserted }
    page = await (ahead as Promise<FeedPage>)
  }
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
  return { facts, unreadable, nextCursor: page.nextCursor, newestAt }
}

/** A page that is fetched ahead may fail before anyone waits for it; the failure is seen when it is awaited. */
function prefetch(page: Promise<FeedPage>): Promise<FeedPage> {
  page.catch(() => undefined)
  return page
}
