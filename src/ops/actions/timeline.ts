import { entityNamed } from '../../model/entities.ts'
import type { Row } from '../../model/entity.ts'
import { isObject, type Json, parsedJson } from '../../model/json.ts'
import { rowKey } from '../../model/row-key.ts'
import { msFromTime, type TimeText } from '../../model/time.ts'
import type { Query } from '../../store/engine/db.ts'
import { knownSubmissions } from '../../store/mirror/submissions.ts'
import {
  arrivalsOf,
  attachmentsOf,
  changesBefore,
  eventsBefore,
  messagesBefore,
  pushesBefore,
  pushesOf,
  type TimelineChange,
  type TimelineKind,
  type TimelinePlace,
  type TimelinePush,
  type TimelineRecord,
  timelineKinds,
} from '../../store/mirror/timeline.ts'
import type { ArrivalsView } from '../../store/schema/completeness.ts'
import { NotFoundError } from '../output/refusals.ts'
import { untrackedText } from './names.ts'

interface TimelineQuery {
  readonly account: string
  readonly submissionId: string
  readonly kinds?: readonly TimelineKind[] | undefined
  readonly after?: TimelinePlace | undefined
  readonly limit: number
  /**
   * Where to read rows. Default: the current rows. For an earlier time, pass the rows as of the change `until`, and set
   * `until` too. The timeline then omits pushes.
   */
  readonly rows?: Query
  readonly until?: number | undefined
}

type Stored = TimelineRecord | TimelineChange | TimelinePush

const READERS = { event: eventsBefore, message: messagesBefore, change: changesBefore, push: pushesBefore } as const

/**
 * @returns a page of a submission's timeline, and the position of the next page.
 * @throws NotFoundError if the submission is not tracked in the account.
 */
export async function timelinePage(
  q: Query,
  { account, submissionId, kinds = timelineKinds, after, limit, rows = q, until }: TimelineQuery,
) {
  const key = { account, submission_id: submissionId }
  if ((await knownSubmissions(q, [key])).size === 0) throw new NotFoundError([untrackedText(submissionId, account)])
  const place = { key, after, limit: limit + 1, until }
  const wanted = timelineKinds.filter((kind) => kinds.includes(kind) && !(kind === 'push' && rows !== q))
  const read: Stored[] = (await Promise.all(wanted.map((kind) => READERS[kind](kind === 'change' ? q : rows, place)))).flat()
  const newestFirst = (a: Stored, b: Stored) =>
    a.at === b.at ? timelineKinds.indexOf(a.kind) - timelineKinds.indexOf(b.kind) : a.at < b.at ? 1 : -1
  // Sorting is stable, so entries of one kind with the same time keep the order of the database.
  const sorted = read.sort(newestFirst)
  const shown = sorted.slice(0, limit)
  const last = shown.at(-1)
  const next: TimelinePlace | null = sorted.length > limit && last !== undefined ? { at: last.at, kind: last.kind, id: last.id } : null
  return { items: await entriesOf(q, rows, key, shown), next }
}

type Key = { readonly account: string; readonly submission_id: string }

async function entriesOf(q: Query, rows: Query, key: Key, shown: readonly Stored[]) {
  const idsOf = (kind: TimelineKind) => shown.filter((each) => each.kind === kind).map(({ id }) => id)
  const rowIds = shown.flatMap((each) => (each.kind === 'push' ? [] : [entityIdOf(key, each)]))
  const [pushes, events, messages, attachments] = await Promise.all([
    rows === q ? pushesOf(q, key, rowIds) : [],
    arrivalsOf(q, key, 'market_events', idsOf('event')),
    arrivalsOf(q, key, 'thread_messages', idsOf('message')),
    attachmentsOf(rows, key, idsOf('message')),
  ])
  const arrivals = new Map([...events, ...messages].map((arrival) => [arrival.record_id, arrival]))
  const hanging = Map.groupBy(attachments, ({ message_id }) => message_id)
  return shown.map((each) => {
    if ('destination' in each) return pushEntry(each)
    const sent = pushes.filter((push) => isOf(push, key, each)).map(sentOf)
    if ('entity' in each) return changeEntry(key, each, sent)
    const files = (hanging.get(each.id) ?? []).map(({ message_id: _, ...file }) => file)
    return recordEntry(key, each, arrivals.get(each.id), sent, each.kind === 'message' ? files : [])
  })
}

function entityIdOf({ submission_id }: Key, each: Stored): string {
  return 'entity_id' in each ? each.entity_id : JSON.stringify([submission_id, each.id])
}

function tableOf(each: Stored): string {
  return 'entity' in each ? each.entity : each.kind === 'event' ? 'market_events' : 'thread_messages'
}

/**
 * @returns true if a push belongs to an entry.
 * An event or message has the pushes of all changes of its row. A change has only the pushes of that change.
 */
function isOf(push: TimelinePush, key: Key, each: Stored): boolean {
  const isOfRow = push.entity === tableOf(each) && push.entity_id === entityIdOf(key, each)
  return isOfRow && (each.kind !== 'change' || push.seq === Number(each.id))
}

function sentOf(push: TimelinePush) {
  return { ...push, outbox_id: Number(push.id), resent: Number(push.is_resent) === 1 }
}

type Sent = ReturnType<typeof sentOf>
type Attached = Omit<Awaited<ReturnType<typeof attachmentsOf>>[number], 'message_id'>

/** Values of fields that an entry doesn't have. Each kind of entry lacks some of these fields. */
const NOTHING = {
  known_at: null,
  known_via: null,
  late_ms: null,
  webhook: null,
  webhook_at: null,
  gone_at: null,
  summary: null,
  text: null,
  party: null,
  direction: null,
  lane_id: null,
  seq: null,
  operation: null,
  entity: null,
  row_key: null,
  destination: null,
  state: null,
  error: null,
}

function recordEntry(key: Key, each: TimelineRecord, arrival: ArrivalsView | undefined, pushes: Sent[], attachments: Attached[]) {
  return {
    ...NOTHING,
    ...each,
    entity: tableOf(each),
    row_key: rowKey([key.account, key.submission_id, each.id]),
    known_via: arrival?.known_via ?? null,
    late_ms: lateness(each.at, each.known_at),
    webhook: arrival?.webhook ?? null,
    webhook_at: arrival?.webhook_at ?? null,
    changed: [],
    pushes,
    attachments,
  }
}

function changeEntry(key: Key, each: TimelineChange, pushes: Sent[]) {
  const entityId = parsedJson(each.entity_id)
  const parts = Array.isArray(entityId) ? [key.account, ...entityId.map((part) => String(part))] : null
  const lane = entityNamed(each.entity)?.key.indexOf('lane_id') ?? -1
  return {
    ...NOTHING,
    ...each,
    what: `${each.entity} ${each.operation}`,
    seq: Number(each.id),
    row_key: parts === null ? null : rowKey(parts),
    lane_id: lane > 0 ? (parts?.[lane] ?? null) : null,
    known_at: each.at,
    known_via: each.cause,
    changed: changedOf(each),
    pushes,
    attachments: [],
  }
}

function changedOf({ before, after }: TimelineChange) {
  const [old, now] = [partOf(before), partOf(after)]
  return [...new Set([...Object.keys(old), ...Object.keys(now)])].map((column) => ({
    column,
    before: old[column] ?? null,
    after: now[column] ?? null,
  }))
}

function partOf(part: Json): Row {
  return isObject(part) ? (part as Row) : {}
}

function pushEntry(each: TimelinePush) {
  const what = `${each.entity} ${each.operation}`
  return { ...NOTHING, ...each, what, known_at: each.queued_at, changed: [], pushes: [sentOf(each)], attachments: [] }
}

/** @returns ms from the event or message until the mirror stored it; 0 if the service's clock is ahead of ours. */
function lateness(at: TimeText, known: TimeText): number {
  return Math.max(0, msFromTime(known) - msFromTime(at))
}
