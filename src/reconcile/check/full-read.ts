import type { EventFact, MessageFact, SubmissionRef } from '../../model/facts.ts'
import { isObject } from '../../model/json.ts'
import { listedAttachments } from '../../model/merge.ts'
import type { Feed } from '../../model/reads.ts'
import { parseUuid } from '../../model/uuid.ts'
import type { FeedPage, FeedRead } from '../../read/feed-pages.ts'
import { readFeedPages } from '../../read/feed-pages.ts'
import type { Unreadable } from '../../store/mirror/conflicts.ts'
import type { UpstreamClient } from '../../upstream/client.ts'
import { StalledError } from './attempts.ts'

/** The result of a full re-read. */
export interface FullRead {
  readonly feed: Feed
  /** All records of a feed with one page; null: the pages went to `onPage`. */
  readonly facts: readonly (EventFact | MessageFact)[] | null
  readonly shown: ShownKeys
  /** Number of records and attachments. */
  readonly compared: number
  readonly unreadable: readonly Unreadable[]
}

/** Keys of all records shown: all that is kept of a long feed. */
export class ShownKeys {
  readonly #ids = new Set<string>()
  /** Ids of malformed items. They and their attachments count as shown. */
  readonly #unreadable = new Set<string>()
  /** Messages without a list of attachments, whose attachments all count as shown. */
  readonly #unlisted = new Set<string>()

  add(fact: EventFact | MessageFact): void {
    if (fact.kind === 'event') this.#ids.add(fact.event.event_id)
    else {
      const id = fact.message.message.message_id
      this.#ids.add(id)
      for (const { position } of fact.message.attachments) this.#ids.add(`${id} ${position}`)
      if (fact.message.attachments.length === 0 && listedAttachments(fact.message.message.raw) === null) this.#unlisted.add(id)
    }
  }

  addUnreadable({ raw }: Unreadable): void {
    const item: unknown = JSON.parse(raw)
    const id = isObject(item) ? parseUuid(item['id']) : null
    if (id !== null) this.#unreadable.add(id)
  }

  /** @param position of an attachment of message `id`. */
  has(id: string, position: number | null = null): boolean {
    if (this.#unreadable.has(id) || (position !== null && this.#unlisted.has(id))) return true
    return this.#ids.has(position === null ? id : `${id} ${position}`)
  }
}

/**
 * Reads a feed from the beginning to its end, with background priority.
 * @param onPage gets each page of a feed with several pages, in order.
 * @throws StalledError if the cursor repeats or the end is unconfirmed; errors of the client and `onPage`.
 */
export async function reReadFeed(
  client: UpstreamClient,
  place: SubmissionRef,
  feed: Feed,
  firstFeedRead: boolean,
  onPage: (facts: readonly (EventFact | MessageFact)[]) => Promise<void>,
  signal: AbortSignal,
): Promise<FullRead> {
  const { account, submissionId } = place
  const walk: FeedRead = {
    account,
    submissionId,
    read: feed,
    since: null,
    via: 'reconcile',
    cause: 'reconcile',
    isFullRead: true,
    firstFeedRead,
    priority: 'background',
  }
  const shown = new ShownKeys()
  const unreadable: Unreadable[] = []
  let compared = 0
  let singlePage: FeedPage['facts'] | null = null
  let pages = 0
  const end = await readFeedPages(
    client,
    walk,
    async (page, end) => {
      pages += 1
      for (const fact of page.facts) {
        shown.add(fact)
        compared += fact.kind === 'event' ? 1 : 1 + fact.message.attachments.length
      }
      for (const item of page.unreadable) {
        shown.addUnreadable(item)
        unreadable.push(item)
      }
      if (pages === 1 && end !== null) singlePage = page.facts
      else await onPage(page.facts)
      return { inserted: 0, changes: 0, stale: 0, changed: [], rawOnly: [], purged: new Set() }
    },
    signal,
  )
  if (end.stall !== null) throw new StalledError(end.stall.reason)
  if (!end.isEndConfirmed) throw new StalledError('the last page of the feed has no next_cursor, so its end is unconfirmed')
  return { feed, facts: singlePage, shown, compared, unreadable }
}
