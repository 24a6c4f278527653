import { told } from '../../model/damaged.ts'
import { type MarketEventRow, marketEvents } from '../../model/entities/market-events.ts'
import { type ThreadAttachmentRow, threadAttachments } from '../../model/entities/thread-attachments.ts'
import { type ThreadMessageRow, threadMessages } from '../../model/entities/thread-messages.ts'
import { hasValue } from '../../model/merge.ts'
import { type TimeText, timeFromMs } from '../../model/time.ts'
import type { Db } from '../../store/engine/db.ts'
import { type Held, heldEvents, heldMessages } from '../../store/mirror/absences.ts'
import type { MirrorReader } from '../../store/mirror/reader.ts'
import { type FoundDifference, finding } from './finding.ts'
import type { Replay, Shown } from './replay.ts'

/** What the mirror has of a feed and a replay did not show. */
export interface Unshown {
  /** Not marked yet. */
  readonly fresh: readonly Held[]
  /** Marked before this run. */
  readonly marked: readonly Held[]
}

/**
 * Looks for what a replay did not show. What became known only after the replay began may have come too late for it; what is to become
 * known only later has its time from a clock that was ahead, which says nothing. A message that is gone takes its attachments with it;
 * attachments of a message that the mirror does not have are looked at by themselves.
 */
export async function unshown(
  db: Db,
  reader: MirrorReader,
  account: string,
  submissionId: string,
  replay: Replay,
  begunAt: TimeText,
): Promise<Unshown> {
  const fresh: Held[] = []
  const marked: Held[] = []
  const { shown } = replay
  for await (const page of held(db, reader, account, submissionId, replay)) {
    const now = timeFromMs(db.clock.now())
    for (const one of page) {
      if (isShown(one, shown)) continue
      if (hasValue(one.goneAt)) marked.push(one)
      else if (one.firstSeenAt === null || one.firstSeenAt < begunAt || one.firstSeenAt > now) fresh.push(one)
    }
  }
  return { fresh, marked }
}

/** Those that a second replay does not show either. */
export function stillUnshown(fresh: readonly Held[], shown: Shown): Held[] {
  return fresh.filter((one) => !isShown(one, shown))
}

/** Whether a replay showed it, or did not show what it hangs on: then nothing is to be said of it. */
function isShown({ id, position, hangs }: Held, shown: Shown): boolean {
  return shown.has(id, position) || (hangs && !shown.has(id))
}

/** Records that were marked before, as findings that stand. */
export function standing(submissionId: string, feed: Replay['feed'], marked: readonly Held[]): FoundDifference[] {
  return marked.map((one) =>
    finding({
      ...keyOf(submissionId, feed, one),
      kind: 'absent',
      standing: true,
      detail: `the service no longer shows it; marked since ${one.goneAt}`,
    }),
  )
}

function keyOf(submissionId: string, feed: Replay['feed'], one: Held) {
  const entity = feed === 'events' ? 'market_events' : one.position === null ? 'thread_messages' : 'thread_attachments'
  const entityId = JSON.stringify([submissionId, one.id, ...(one.position === null ? [] : [one.position])].map(told))
  return { submissionId, entity, entityId, read: feed }
}

async function* held(db: Db, reader: MirrorReader, account: string, submissionId: string, replay: Replay): AsyncGenerator<readonly Held[]> {
  const whole = wholeOf(reader, submissionId, replay.feed)
  if (whole !== null) yield whole
  else yield* replay.feed === 'events' ? heldEvents(db.read, account, submissionId) : heldMessages(db.read, account, submissionId)
}

function wholeOf(reader: MirrorReader, submissionId: string, feed: Replay['feed']): Held[] | null {
  if (feed === 'events') {
    const rows = reader.wholeOf(marketEvents, submissionId) as readonly MarketEventRow[] | null
    return rows?.map((row) => recordOf(row.event_id, row)) ?? null
  }
  const messages = reader.wholeOf(threadMessages, submissionId) as readonly ThreadMessageRow[] | null
  const attachments = reader.wholeOf(threadAttachments, submissionId) as readonly ThreadAttachmentRow[] | null
  if (messages === null || attachments === null) return null
  const present = new Set(messages.map((row) => row.message_id))
  const held = attachments.map(({ message_id: id, position, gone_at: goneAt }) => ({ id, position, hangs: present.has(id), goneAt }))
  return [
    ...messages.map((row) => recordOf(row.message_id, row)),
    // When an attachment became known is not kept.
    ...held.map((one) => ({ ...one, firstSeenAt: null })),
  ]
}

function recordOf(id: string, row: MarketEventRow | ThreadMessageRow): Held {
  return { id, position: null, hangs: false, firstSeenAt: row.first_seen_at, goneAt: row.gone_at }
}
