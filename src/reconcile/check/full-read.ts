import { isObject } from '../../model/json.ts'
import { listedAttachments } from '../../model/merge.ts'
import type { EventObservation, MessageObservation, SubmissionRef } from '../../model/observations.ts'
import type { Feed } from '../../model/reads.ts'
import { parseUuid } from '../../model/uuid.ts'
import type { FeedPage, FeedRead } from '../../read/feed-pages.ts'
import { readFeedPages } from '../../read/feed-pages.ts'
import type { Unreadable } from '../../store/mirror/conflicts.ts'
import type { UpstreamClient } from '../../upstream/client.ts'
import { StalledError } from './attempts.ts'

export interface FullRead {
  readonly feed: Feed
  /** All records of a feed with one page; null if the feed has several pages, which went to `onPage`. */
  readonly observations: readonly (EventObservation | MessageObservation)[] | null
  readonly shown: ShownKeys
  /** Number of records and attachments that were compared. */
  readonly compared: number
  readonly unreadable: readonly Unreadable[]
}

/** Keys of all records that a re-read showed. Keeps only keys, so a long feed fits in memory. */
export class ShownKeys {
  readonly #ids = new Set<string>()
  /** Ids of malformed items. Each item, and its attachments, count as shown. */
  readonly #unreadable = new Set<string>()
  /** Ids of messages without a list of attachments. All their attachments count as shown. */
  readonly #unlisted = new Set<string>()

  add(observation: EventObservation | MessageObservation): void {
    if (observation.kind === 'event') this.#ids.add(observation.event.event_id)
    else {
      const id = observation.message.message.message_id
      this.#ids.add(id)
      for (const { position } of observation.message.attachments) this.#ids.add(`${id} ${position}`)
      if (observation.message.attachments.length === 0 && listedAttachments(observation.message.message.raw) === null)
        this.#unlisted.add(id)
    }
  }

  addUnreadable({ raw }: Unreadable): void {
    const item: unknown = JSON.parse(raw)
    const id = isObject(item) ? parseUuid(item['id']) : null
    if (id !== null) this.#unreadable.add(id)
  }

  /** True if the re-read showed record `id` or, with `position`, the attachment at this position of message `id`. */
  has(id: string, position: number | null = null): boolean {
    if (this.#unreadable.has(id) || (position !== null && this.#unlisted.has(id))) return true
    return this.#ids.has(position === null ? id : `${id} ${position}`)
  }
}

/**
 * Reads a feed from its beginning to its end, with background priority.
 * @param onPage gets each page, in order, if the feed has several pages.
 * @throws StalledError if the read stops early, or if the last page has no `next_cursor`. Only null confirms the end.
 * @throws errors of the client and of `onPage`.
 */
export async function reReadFeed(
  client: UpstreamClient,
  place: SubmissionRef,
  feed: Feed,
  firstFeedRead: boolean,
  onPage: (observations: readonly (EventObservation | MessageObservation)[]) => Promise<void>,
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
  let singlePage: FeedPage['observations'] | null = null
  let pages = 0
  const end = await readFeedPages(
    client,
    walk,
    async (page, end) => {
      pages += 1
      for (const observation of page.observations) {
        shown.add(observation)
        compared += observation.kind === 'event' ? 1 : 1 + observation.message.attachments.length
      }
      for (const item of page.unreadable) {
        shown.addUnreadable(item)
        unreadable.push(item)
      }
      if (pages === 1 && end !== null) singlePage = page.observations
      else await onPage(page.observations)
      return { inserted: 0, changes: 0, stale: 0, changed: [], rawOnly: [], purged: new Set() }
    },
    signal,
  )
  if (end.stall !== null) throw new StalledError(end.stall.reason)
  if (!end.isEndConfirmed) throw new StalledError('the last page of the feed has no next_cursor, so its end is unconfirmed')
  return { feed, observations: singlePage, shown, compared, unreadable }
}
