import { readableValue } from '../../model/damaged.ts'
import { type MarketEventRow, marketEvents } from '../../model/entities/market-events.ts'
import { type ThreadAttachmentRow, threadAttachments } from '../../model/entities/thread-attachments.ts'
import { type ThreadMessageRow, threadMessages } from '../../model/entities/thread-messages.ts'
import { hasValue } from '../../model/merge.ts'
import { type TimeText, timeFromMs } from '../../model/time.ts'
import type { Db } from '../../store/engine/db.ts'
import { type StoredRecord, storedEvents, storedMessages } from '../../store/mirror/absences.ts'
import type { MirrorReader } from '../../store/mirror/reader.ts'
import { finding, type NewFinding } from './finding.ts'
import type { Replay, ShownKeys } from './replay.ts'

/** Records that the mirror has and a replay did not show. */
export interface AbsentRecords {
  readonly unmarked: readonly StoredRecord[]
  /** Marked as gone before this run. */
  readonly marked: readonly StoredRecord[]
}

/**
 * Finds the records that a replay did not show. Records first seen after the replay began are left out: they may have come too late
 * for it. A `first_seen_at` in the future comes from a clock that was ahead and proves nothing, so such records count. An attachment is
 * reported only when its message is not: a message that is gone takes its attachments with it.
 * @param begunAt when the replay began.
 */
export async function findAbsent(
  db: Db,
  reader: MirrorReader,
  account: string,
  submissionId: string,
  replay: Replay,
  begunAt: TimeText,
): Promise<AbsentRecords> {
  const unmarked: StoredRecord[] = []
  const marked: StoredRecord[] = []
  const { shown } = replay
  for await (const page of storedRecords(db, reader, account, submissionId, replay)) {
    const now = timeFromMs(db.clock.now())
    for (const record of page) {
      if (isShown(record, shown)) continue
      if (hasValue(record.goneAt)) marked.push(record)
      else if (record.firstSeenAt === null || record.firstSeenAt < begunAt || record.firstSeenAt > now) unmarked.push(record)
    }
  }
  return { unmarked, marked }
}

/** The records that a second replay does not show either. */
export function stillAbsent(unmarked: readonly StoredRecord[], shown: ShownKeys): StoredRecord[] {
  return unmarked.filter((record) => !isShown(record, shown))
}

/** Whether nothing is to be reported: the replay showed the record, or did not show the message of this attachment either. */
function isShown({ id, position, hasMessage }: StoredRecord, shown: ShownKeys): boolean {
  return shown.has(id, position) || (hasMessage && !shown.has(id))
}

/** Standing findings for records that an earlier run marked. */
export function knownAbsences(submissionId: string, feed: Replay['feed'], marked: readonly StoredRecord[]): NewFinding[] {
  return marked.map((record) =>
    finding({
      ...keyOf(submissionId, feed, record),
      kind: 'absent',
      standing: true,
      detail: `the service no longer shows it; marked as gone since ${record.goneAt}`,
    }),
  )
}

function keyOf(submissionId: string, feed: Replay['feed'], { id, position }: StoredRecord) {
  const entity = feed === 'events' ? 'market_events' : position === null ? 'thread_messages' : 'thread_attachments'
  const entityId = JSON.stringify([submissionId, id, ...(position === null ? [] : [position])].map(readableValue))
  return { submissionId, entity, entityId, read: feed }
}

async function* storedRecords(
  db: Db,
  reader: MirrorReader,
  account: string,
  submissionId: string,
  replay: Replay,
): AsyncGenerator<readonly StoredRecord[]> {
  const preloaded = preloadedRecords(reader, submissionId, replay.feed)
  if (preloaded !== null) yield preloaded
  else yield* replay.feed === 'events' ? storedEvents(db.read, account, submissionId) : storedMessages(db.read, account, submissionId)
}

function preloadedRecords(reader: MirrorReader, submissionId: string, feed: Replay['feed']): StoredRecord[] | null {
  if (feed === 'events') {
    const rows = reader.preloaded(marketEvents, submissionId) as readonly MarketEventRow[] | null
    return rows?.map((row) => recordOf(row.event_id, row)) ?? null
  }
  const messages = reader.preloaded(threadMessages, submissionId) as readonly ThreadMessageRow[] | null
  const attachments = reader.preloaded(threadAttachments, submissionId) as readonly ThreadAttachmentRow[] | null
  if (messages === null || attachments === null) return null
  const messageIds = new Set(messages.map((row) => row.message_id))
  return [
    ...messages.map((row) => recordOf(row.message_id, row)),
    ...attachments.map(({ message_id: id, position, gone_at: goneAt }) => ({
      id,
      position,
      hasMessage: messageIds.has(id),
      // The mirror does not keep when it first saw an attachment.
      firstSeenAt: null,
      goneAt,
    })),
  ]
}

function recordOf(id: string, row: MarketEventRow | ThreadMessageRow): StoredRecord {
  return { id, position: null, hasMessage: false, firstSeenAt: row.first_seen_at, goneAt: row.gone_at }
}
