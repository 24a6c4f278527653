import { type MarketEventRow, marketEvents } from '../../model/entities/market-events.ts'
import { type ThreadAttachmentRow, threadAttachments } from '../../model/entities/thread-attachments.ts'
import { type ThreadMessageRow, threadMessages } from '../../model/entities/thread-messages.ts'
import { hasValue } from '../../model/merge.ts'
import { type TimeText, timeFromMs } from '../../model/time.ts'
import type { Db } from '../../store/engine/db.ts'
import { type StoredRecord, storedEvents, storedMessages } from '../../store/mirror/absences.ts'
import type { MirrorReader } from '../../store/mirror/reader.ts'
import { finding, type NewFinding } from './finding.ts'
import type { FullRead, ShownKeys } from './full-read.ts'

/**
 * Records of the mirror that a full re-read didn't show. `marked`: records that were marked as gone before this run.
 */
export interface AbsentRecords {
  readonly unmarked: readonly StoredRecord[]
  readonly marked: readonly StoredRecord[]
}

/**
 * Finds the mirror's records that a full re-read didn't show. If a message wasn't shown, only the message is reported,
 * not its attachments.
 * Ignores records that were first stored after `begunAt`. If the stored time is in the future, the time is wrong, so
 * the record is reported.
 * @param begunAt when the full re-read began.
 */
export async function findAbsent(
  db: Db,
  reader: MirrorReader,
  account: string,
  submissionId: string,
  fullRead: FullRead,
  begunAt: TimeText,
): Promise<AbsentRecords> {
  const unmarked: StoredRecord[] = []
  const marked: StoredRecord[] = []
  const { shown } = fullRead
  for await (const page of storedRecords(db, reader, account, submissionId, fullRead)) {
    const now = timeFromMs(db.clock.now())
    for (const record of page) {
      if (isShown(record, shown)) continue
      if (hasValue(record.goneAt)) marked.push(record)
      else if (record.firstSeenAt === null || record.firstSeenAt < begunAt || record.firstSeenAt > now) unmarked.push(record)
    }
  }
  return { unmarked, marked }
}

export function stillAbsent(unmarked: readonly StoredRecord[], shown: ShownKeys): StoredRecord[] {
  return unmarked.filter((record) => !isShown(record, shown))
}

/**
 * True if the re-read showed the record. Also true for an attachment of a message that wasn't shown, because only the
 * message is reported.
 */
function isShown({ id, position, hasMessage }: StoredRecord, shown: ShownKeys): boolean {
  return shown.has(id, position) || (hasMessage && !shown.has(id))
}

/** @returns a finding with `known: true` for each record that an earlier run marked as gone. */
export function knownAbsences(submissionId: string, feed: FullRead['feed'], marked: readonly StoredRecord[]): NewFinding[] {
  return marked.map((record) =>
    finding({
      ...keyOf(submissionId, feed, record),
      kind: 'absent',
      known: true,
      detail: `the service no longer shows it; marked as gone since ${record.goneAt}`,
    }),
  )
}

function keyOf(submissionId: string, feed: FullRead['feed'], { id, position }: StoredRecord) {
  const entity = feed === 'events' ? 'market_events' : position === null ? 'thread_messages' : 'thread_attachments'
  const entityId = JSON.stringify([submissionId, id, ...(position === null ? [] : [position])])
  return { submissionId, entity, entityId, read: feed }
}

async function* storedRecords(
  db: Db,
  reader: MirrorReader,
  account: string,
  submissionId: string,
  fullRead: FullRead,
): AsyncGenerator<readonly StoredRecord[]> {
  const preloaded = preloadedRecords(reader, submissionId, fullRead.feed)
  if (preloaded !== null) yield preloaded
  else yield* fullRead.feed === 'events' ? storedEvents(db.read, account, submissionId) : storedMessages(db.read, account, submissionId)
}

function preloadedRecords(reader: MirrorReader, submissionId: string, feed: FullRead['feed']): StoredRecord[] | null {
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
      // The mirror doesn't store when an attachment was first seen.
      firstSeenAt: null,
      goneAt,
    })),
  ]
}

function recordOf(id: string, row: MarketEventRow | ThreadMessageRow): StoredRecord {
  return { id, position: null, hasMessage: false, firstSeenAt: row.first_seen_at, goneAt: row.gone_at }
}
