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

/** What a replay showed. */
export interface Replay {
  readonly feed: Feed
  /** What it showed, when all of it came on one page; of a longer feed the pages were handed out one by one. */
  readonly facts: readonly (EventFact | MessageFact)[] | null
  readonly shown: Shown
  /** Records and what hangs on them. */
  readonly compared: number
  readonly unreadable: readonly Unreadable[]
}

/** Keys of everything that a replay showed. They are all that is kept of a long feed. */
export class Shown {
  readonly #ids = new Set<string>()
  /** Of items that could not be read: they are shown all the same, with whatever hangs on them. */
  readonly #unread = new Set<string>()
  /** Messages of whose attachments there is no list: nothing is said of them. */
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

  addUnread({ raw }: Unreadable): void {
    const item: unknown = JSON.parse(raw)
    const id = isObject(item) ? parseUuid(item['id']) : null
    if (id !== null) this.#unread.add(id)
  }

  /** @param position of an attachment, whose `id` is its message's. */
  has(id: string, position: number | null = null): boolean {
    if (this.#unread.has(id) || (position !== null && this.#unlisted.has(id))) return true
    return this.#ids.has(position === null ? id : `${id} ${position}`)
  }
}

/**
 * Reads a feed from the empty cursor to its end, behind all live work.
 * @param onPage takes the pages of a feed that has several, before the next is waited for.
 * @throws StalledError when the feed does not move on; what the client and `onPage` throw.
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
  const shown = new Shown()
  const unreadable: Unreadable[] = []
  let compared = 0
  let only: FeedPage['facts'] | null = null
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
        shown.addUnread(item)
        unreadable.push(item)
      }
      if (pages === 1 && end !== null) only = page.facts
      else await onPage(page.facts)
      return { inserted: 0, changes: 0, stale: 0, changed: [], rawOnly: [] }
    },
    signal,
  )
  if (end.ended === 'stalled') throw new StalledError('the service gives the same cursor again and nothing behind it')
  return { feed, facts: only, shown, compared, unreadable }
}
