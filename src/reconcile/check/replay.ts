import type { EventFact, MessageFact, Place } from '../../model/facts.ts'
import { isObject } from '../../model/json.ts'
import { listedAttachments } from '../../model/merge.ts'
import type { Feed } from '../../model/reads.ts'
import { parseUuid } from '../../model/uuid.ts'
import type { FeedPage, Walk } from '../../read/walk.ts'
import { walkFeed } from '../../read/walk.ts'
import type { Unreadable } from '../../store/mirror/evidence.ts'
import type { UpstreamClient } from '../../upstream/client.ts'
import { StalledError } from './attempts.ts'

/** The result of a replay. */
export interface Replay {
  readonly feed: Feed
  /** All records, when the feed had one page; null for a longer one, whose pages went to `onPage`. */
  readonly facts: readonly (EventFact | MessageFact)[] | null
  readonly shown: ShownKeys
  /** Number of records, attachments included. */
  readonly compared: number
  readonly unreadable: readonly Unreadable[]
}

/** Keys of everything that a replay showed: all that is kept in memory of a long feed. */
export class ShownKeys {
  readonly #ids = new Set<string>()
  /** Ids of items that could not be parsed. They and their attachments count as shown. */
  readonly #unreadable = new Set<string>()
  /** Messages without a list of attachments. Whatever attachments they have count as shown. */
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

  /** @param position an attachment's position; `id` is then its message's. */
  has(id: string, position: number | null = null): boolean {
    if (this.#unreadable.has(id) || (position !== null && this.#unlisted.has(id))) return true
    return this.#ids.has(position === null ? id : `${id} ${position}`)
  }
}

/**
 * Reads a feed from the empty cursor to its end, with lower priority than live work.
 * @param onPage receives each page of a feed with several pages, in order.
 * @throws StalledError when the cursor does not move; what the client and `onPage` throw.
 */
export async function replayFeed(
  client: UpstreamClient,
  place: Place,
  feed: Feed,
  firstWalk: boolean,
  onPage: (facts: readonly (EventFact | MessageFact)[]) => Promise<void>,
  signal: AbortSignal,
): Promise<Replay> {
  const { account, submissionId } = place
  const walk: Walk = {
    account,
    submissionId,
    read: feed,
    since: null,
    via: 'reconcile',
    cause: 'reconcile',
    fromReplay: true,
    firstWalk,
    priority: 'background',
  }
  const shown = new ShownKeys()
  const unreadable: Unreadable[] = []
  let compared = 0
  let singlePage: FeedPage['facts'] | null = null
  let pages = 0
  const end = await walkFeed(
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
  if (!end.isEndTold) throw new StalledError('the last page of the feed has no next_cursor, so that it was the last is not proved')
  return { feed, facts: singlePage, shown, compared, unreadable }
}
