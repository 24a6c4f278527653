import { isDamaged } from '../model/damaged.ts'
import { type LaneRow, lanes } from '../model/entities/lanes.ts'
import { type MarketEventRow, marketEvents } from '../model/entities/market-events.ts'
import { quoteHistory } from '../model/entities/quote-history.ts'
import { quotes } from '../model/entities/quotes.ts'
import { sourceOffers } from '../model/entities/source-offers.ts'
import { type SubmissionRow, submissions } from '../model/entities/submissions.ts'
import { threadAttachments } from '../model/entities/thread-attachments.ts'
import { type ThreadMessageRow, threadMessages } from '../model/entities/thread-messages.ts'
import type { Row } from '../model/entity.ts'
import type { EventFact, MessageFact, StateFact } from '../model/facts.ts'
import type { Json } from '../model/json.ts'
import { hasValue } from '../model/merge.ts'
import type { MirrorReader } from '../store/mirror/reader.ts'
import { newestAmong } from '../store/mirror/reader.ts'

/*
 * Most of what a reconcile run reads is exactly what the mirror holds. That is seen here by plain comparison, column by column, without
 * what it takes to decide what a difference means: whatever is not plainly the same is left to `compareFacts`. So this may say no too
 * often, and never yes wrongly.
 */

/**
 * Whether applying these facts of one submission would change nothing, with what follows from its records.
 * @param records the whole of its feeds, and nothing else; null when they are not whole.
 */
export function isUnchanged(
  reader: MirrorReader,
  submissionId: string,
  state: StateFact | null,
  records: readonly (EventFact | MessageFact)[] | null,
): boolean {
  const submission = reader.wholeOf(submissions, submissionId)?.[0] as SubmissionRow | undefined
  const events = reader.wholeOf(marketEvents, submissionId) as readonly MarketEventRow[] | null
  const messages = reader.wholeOf(threadMessages, submissionId) as readonly ThreadMessageRow[] | null
  if (records === null || submission === undefined || events === null || messages === null) return false
  if (submission.unreachable_since !== null || isDamaged(submission.tracked_at) || isDamaged(submission.tracked_via)) return false
  return (
    sameRecords(reader, submissionId, events, messages, records) &&
    sameDerived(reader, submission, events, messages) &&
    (state === null || sameState(reader, submission, state))
  )
}

function sameRecords(
  reader: MirrorReader,
  submissionId: string,
  events: readonly MarketEventRow[],
  messages: readonly ThreadMessageRow[],
  records: readonly (EventFact | MessageFact)[],
): boolean {
  const attachments = reader.wholeOf(threadAttachments, submissionId)
  if (attachments === null) return false
  const eventById = new Map(events.map((row) => [row.event_id, row as Row]))
  const messageById = new Map(messages.map((row) => [row.message_id, row as Row]))
  const attachmentByKey = new Map(attachments.map((row) => [`${row['message_id']} ${row['position']}`, row]))
  for (const fact of records) {
    if (fact.kind === 'event') {
      if (!isShown(eventById.get(fact.event.event_id), fact.event)) return false
      continue
    }
    const { message, attachments } = fact.message
    if (!isShown(messageById.get(message.message_id), message)) return false
    for (const attachment of attachments) {
      if (!isShown(attachmentByKey.get(`${message.message_id} ${attachment.position}`), attachment)) return false
    }
  }
  return true
}

/** The last moments, and the lanes that no rail has named. */
function sameDerived(
  reader: MirrorReader,
  submission: SubmissionRow,
  events: readonly MarketEventRow[],
  messages: readonly ThreadMessageRow[],
): boolean {
  const { eventAt, messageAt, laneEvents } = newestAmong(events, messages)
  if (submission.last_event_at !== eventAt || submission.last_message_at !== messageAt) return false
  const stored = reader.wholeOf(lanes, submission.submission_id) as readonly LaneRow[] | null
  if (stored === null || !stored.every(isPlainlyOfRail)) return false
  const known = new Set(stored.map((lane) => lane.lane_id))
  const told = new Set(laneEvents)
  return events.every((event) => !told.has(event.event_id) || (event.lane_id !== null && known.has(event.lane_id)))
}

/** The rail is where its state comes from, and no event is named beside it. */
function isPlainlyOfRail(lane: LaneRow): boolean {
  return lane.state_source === 'rail' && lane.state_event_id === null && lane.state_occurred_at === null
}

function sameState(reader: MirrorReader, submission: SubmissionRow, { requirements }: StateFact): boolean {
  const { raw, ...columns } = requirements.submission
  if (!sameColumns(submission, columns) || withoutTimes(submission.raw) !== withoutTimes(raw)) return false
  const { rail } = requirements
  if (rail === null) return true
  const { submission_id: id } = submission
  if (
    !sameSet(reader.wholeOf(lanes, id), rail.lanes.length, (row) => rail.lanes.find(({ lane }) => lane.lane_id === row['lane_id'])?.lane)
  ) {
    return false
  }
  const laneOf = new Map(rail.lanes.map((lane) => [lane.lane.lane_id, lane]))
  const quoteCount = rail.lanes.reduce((sum, lane) => sum + lane.quotes.length, 0)
  const offerCount = rail.lanes.reduce((sum, lane) => sum + lane.sourceOffers.length, 0)
  const history = rail.quoteHistory ?? []
  return (
    sameSet(reader.wholeOf(quotes, id), quoteCount, (row) =>
      laneOf.get(String(row['lane_id']))?.quotes.find((quote) => quote.quote_id === row['quote_id']),
    ) &&
    sameSet(reader.wholeOf(sourceOffers, id), offerCount, (row) =>
      laneOf.get(String(row['lane_id']))?.sourceOffers.find((offer) => offer.presentation_id === row['presentation_id']),
    ) &&
    sameSet(reader.wholeOf(quoteHistory, id), history.length, (row) => history.find((item) => item.history_key === row['history_key']))
  )
}

/** Whether the rows that are not marked as gone are those that are shown, each with the same columns. */
function sameSet(rows: readonly Row[] | null, shown: number, saidOf: (row: Row) => object | undefined): boolean {
  const present = rows?.filter((row) => !hasValue(row['gone_at']))
  return present?.length === shown && present.every((row) => isShown(row, saidOf(row)))
}

function isShown(row: Row | undefined, said: object | undefined): boolean {
  if (row === undefined || said === undefined || row['gone_at'] !== null) return false
  return !isDamaged(row['first_seen_at']) && !isDamaged(row['first_seen_via']) && sameColumns(row, said)
}

function sameColumns(row: object, said: object): boolean {
  for (const column in said) {
    if (!same((row as Row)[column] ?? null, (said as Row)[column] ?? null)) return false
  }
  return true
}

function same(a: Json, b: Json): boolean {
  return a === b || (typeof a === 'object' && typeof b === 'object' && a !== null && b !== null && JSON.stringify(a) === JSON.stringify(b))
}

/** A quote within a text is escaped, so that this never touches one. */
function withoutTimes(raw: string | null): string | null {
  return raw?.replace(/"(?:generated|evaluated)_at":(?:"[^"\\]*"|null)/g, '') ?? null
}
