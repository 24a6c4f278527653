import { comparableText } from '../base/sealed.ts'
import { documents } from '../model/entities/documents.ts'
import { type LaneRow, lanes } from '../model/entities/lanes.ts'
import { type MarketEventRow, marketEvents } from '../model/entities/market-events.ts'
import { policies } from '../model/entities/policies.ts'
import { sourceOffers } from '../model/entities/source-offers.ts'
import { type SubmissionRow, submissions } from '../model/entities/submissions.ts'
import { threadAttachments } from '../model/entities/thread-attachments.ts'
import { type ThreadMessageRow, threadMessages } from '../model/entities/thread-messages.ts'
import { entities, rawNames } from '../model/entities.ts'
import { columnsWhere, type Entity, type Field, ownKey, type Row, type RowOf } from '../model/entity.ts'
import { canonicalJson, type Json } from '../model/json.ts'
import { stableLink, withStableLinksInText } from '../model/links.ts'
import { hasValue } from '../model/merge.ts'
import type { EventObservation, MessageObservation, StateObservation } from '../model/observations.ts'
import { tableView, type View } from '../model/view.ts'
import type { MirrorReader } from '../store/mirror/reader.ts'
import { newestAmong } from '../store/mirror/reader.ts'
import { documentRows } from './documents.ts'
import { GENERATED, valuesUnder } from './generated.ts'
import { insuredIn, insuredsIn, storedInsured } from './known-ids.ts'
import { withActivity } from './submissions.ts'

/*
 * Most data that a reconcile run reads equals the mirror. `isUnchanged` detects this quickly, column by column. If
 * `isUnchanged` returns true, the data is equal. If it returns false, the data may be equal or different, and the run
 * calls the slower `compareObservations`.
 */

/**
 * Whether applying these observations of one submission would change nothing, including derived columns.
 * @param records all records of the submission's feeds; null if the feeds were not read completely. The
 * result is then false.
 */
export function isUnchanged(
  reader: MirrorReader,
  submissionId: string,
  states: readonly StateObservation[],
  records: readonly (EventObservation | MessageObservation)[] | null,
): boolean {
  const submission = reader.preloaded(submissions, submissionId)?.[0] as SubmissionRow | undefined
  const events = reader.preloaded(marketEvents, submissionId) as readonly MarketEventRow[] | null
  const messages = reader.preloaded(threadMessages, submissionId) as readonly ThreadMessageRow[] | null
  if (records === null || submission === undefined || events === null || messages === null) return false
  if (submission.unreachable_since !== null || !sameInsured(submission, [...states, ...records])) return false
  return (
    sameRecords(reader, submissionId, events, messages, records) &&
    sameDerived(reader, submission, events, messages) &&
    (!reader.listsDocuments || sameDocuments(reader, submission)) &&
    states.every((state) => (state.view.ownSubmissionId ?? submissionId) === submissionId && sameState(reader, submission, state))
  )
}

function sameInsured(
  { insured_id }: SubmissionRow,
  observations: readonly (StateObservation | EventObservation | MessageObservation)[],
): boolean {
  if (insured_id !== storedInsured(insured_id) || !observations.every((observation) => [null, insured_id].includes(insuredIn(observation))))
    return false
  const named = insuredsIn(observations)
  return named.length === 0 || (insured_id !== null && named.includes(insured_id))
}

function sameRecords(
  reader: MirrorReader,
  submissionId: string,
  events: readonly MarketEventRow[],
  messages: readonly ThreadMessageRow[],
  records: readonly (EventObservation | MessageObservation)[],
): boolean {
  const attachments = reader.preloaded(threadAttachments, submissionId)
  if (attachments === null) return false
  const eventById = new Map(events.map((row) => [row.event_id, row as Row]))
  const messageById = new Map(messages.map((row) => [row.message_id, row as Row]))
  const attachmentByKey = new Map(attachments.map((row) => [`${row['message_id']} ${row['position']}`, row]))
  for (const observation of records) {
    if (observation.kind === 'event') {
      if (!isShown(eventById.get(observation.event.event_id), observation.event)) return false
      continue
    }
    const { message, attachments } = observation.message
    if (!isShown(messageById.get(message.message_id), message)) return false
    for (const attachment of attachments) {
      if (!isShown(attachmentByKey.get(`${message.message_id} ${attachment.position}`), attachment)) return false
    }
  }
  return true
}

function sameDocuments(reader: MirrorReader, { account, submission_id }: SubmissionRow): boolean {
  const rowsOf = <E extends Entity>(entity: E) => (reader.preloaded(entity, submission_id) ?? []) as unknown as readonly RowOf<E>[]
  const stored = rowsOf(documents)
  const ids = reader.preloadedDocumentIds(submission_id)
  const sources = { attachments: rowsOf(threadAttachments), offers: rowsOf(sourceOffers), policies: rowsOf(policies), ids }
  const byKey = new Map(stored.map((row) => [row.document_key, row as Row]))
  return documentRows({ account, submissionId: submission_id }, sources, stored, '').every((row) => {
    const known = byKey.get(row.document_key)
    return known !== undefined && sameColumns(known, row)
  })
}

/**
 * Whether the submission's row has the times of the newest event and message, a rail has named every stored lane, and
 * every lane with an event is stored.
 */
function sameDerived(
  reader: MirrorReader,
  submission: SubmissionRow,
  events: readonly MarketEventRow[],
  messages: readonly ThreadMessageRow[],
): boolean {
  const { eventAt, messageAt, laneEvents } = newestAmong(events, messages)
  if (submission.last_event_at !== eventAt || submission.last_message_at !== messageAt) return false
  if (submission.last_activity_at !== withActivity(submission).last_activity_at) return false
  const stored = reader.preloaded(lanes, submission.submission_id) as readonly LaneRow[] | null
  if (stored === null || !stored.every(isPlainlyOfRail)) return false
  const known = new Set(stored.map((lane) => lane.lane_id))
  const newest = new Set(laneEvents)
  return events.every((event) => !newest.has(event.event_id) || (event.lane_id !== null && known.has(event.lane_id)))
}

/** Whether all three source columns say that a rail named the lane. */
function isPlainlyOfRail(lane: LaneRow): boolean {
  return lane.state_source === 'rail' && lane.state_event_id === null && lane.state_occurred_at === null
}

function sameState(reader: MirrorReader, row: SubmissionRow, { view }: StateObservation): boolean {
  return sameSubmission(row, view) && entities.every((entity) => sameList(reader.preloaded(entity, row.submission_id), entity, view))
}

function sameSubmission(row: SubmissionRow, { submission }: View): boolean {
  return submission === null || sameColumns(row, submission, OF_VIEWS)
}

/** Whether the stored rows that aren't gone equal the view's rows, column by column. */
function sameList(rows: readonly Row[] | null, entity: Entity, view: View): boolean {
  const shown = tableView(view, entity)
  if (shown === null) return true
  const present = rows?.filter((row) => !hasValue(row['gone_at']) && shown.covers(row))
  if (present?.length !== shown.rows.length) return false
  const [key, volatile] = [ownKey(entity), volatileOf(entity)]
  const keyOf = (row: Row) => JSON.stringify(key.map((column) => row[column]))
  const shownByKey = new Map(shown.rows.map((row) => [keyOf(row), row]))
  return present.every((row) => isShown(row, shownByKey.get(keyOf(row)), volatile))
}

/**
 * How to compare rows of a table. Ignores the columns in `columns`. In raw columns, ignores the text that `inRaw`
 * matches. Compares the columns in `links` by `stableLink`.
 */
interface Volatile {
  readonly columns: ReadonlySet<string>
  readonly inRaw: RegExp | null
  readonly links: ReadonlySet<string>
}

const OF_RECORDS: Volatile = { columns: new Set(), inRaw: null, links: new Set(columnsWhere(threadAttachments, isLink)) }
const OF_VIEWS: Volatile = {
  columns: new Set(columnsWhere(submissions, (field) => field.volatile === true)),
  inRaw: valuesUnder([...GENERATED]),
  links: new Set(),
}

function volatileOf(entity: Entity): Volatile {
  const columns = columnsWhere(entity, (field) => field.volatile === true)
  return {
    columns: new Set(columns),
    inRaw: columns.length === 0 ? null : valuesUnder(columns),
    links: new Set(columnsWhere(entity, isLink)),
  }
}

function isLink({ link, kind }: Field): boolean {
  return link === true && kind !== 'raw'
}

function isShown(row: Row | undefined, shownRow: object | undefined, volatile: Volatile = OF_RECORDS): boolean {
  if (row === undefined || shownRow === undefined || (row['gone_at'] ?? null) !== null) return false
  return sameColumns(row, shownRow, volatile)
}

function sameColumns(row: object, shownRow: object, volatile: Volatile = OF_RECORDS): boolean {
  for (const column in shownRow) {
    if (!sameBut(volatile, column, (row as Row)[column] ?? null, (shownRow as Row)[column] ?? null)) return false
  }
  return true
}

function sameBut({ columns, inRaw, links }: Volatile, column: string, stored: Json, shown: Json): boolean {
  if (columns.has(column) || same(stored, shown)) return true
  if (typeof stored !== 'string' || typeof shown !== 'string') return false
  if (links.has(column)) return stableLink(stored) === stableLink(shown)
  return rawNames.has(column) && without(inRaw, stored) === without(inRaw, shown)
}

function same(a: Json, b: Json): boolean {
  if (a === b) return true
  if (a === null || b === null || typeof a !== typeof b) return false
  // Postgres returns the keys of jsonb in another order, so `canonicalJson` sorts the keys of both values first.
  return typeof a === 'object' || typeof a === 'string' ? comparableText(canonicalJson(a)) === comparableText(canonicalJson(b)) : false
}

function without(values: RegExp | null, raw: string): string {
  return comparableText(withStableLinksInText(values === null ? raw : raw.replace(values, '')))
}
