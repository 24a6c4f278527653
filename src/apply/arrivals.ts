import { marketEvents } from '../model/entities/market-events.ts'
import { threadMessages } from '../model/entities/thread-messages.ts'
import { identityOf, type Row } from '../model/entity.ts'
import type { EventObservation, MessageObservation } from '../model/observations.ts'
import type { ApplySession } from './session.ts'

/**
 * Records that an event or message was read from a feed before its webhook arrived. Skips events and messages that are
 * too old for a webhook. If the webhook arrives later, its arrival is recorded too. A webhook that never arrives counts
 * as lost.
 * @param firstVia how the event or message was first seen, such as `webhook` or `poll`.
 * @param isNew whether the mirror had no row of the event or message before this observation.
 */
export function noteArrival(
  session: ApplySession,
  observation: EventObservation | MessageObservation,
  entity: string,
  recordId: string,
  firstVia: string,
  isNew: boolean,
): void {
  const { occurred_at } = observation.kind === 'event' ? observation.event : observation.message.message
  const news = isNew && firstVia !== 'webhook' && !session.isBeforeWebhooks(observation, String(occurred_at))
  const late = !isNew && observation.via === 'webhook' && firstVia !== 'webhook'
  if (!news && !late) return
  const note = { account: observation.account, entity, submission_id: observation.submissionId, record_id: recordId }
  session.arrivals.push({ ...note, way: late ? 'webhook' : 'feed' })
  // The first read of a feed reads everything, but doesn't count as a full re-read.
  if (news && observation.isFullRead && !observation.firstFeedRead && firstVia === 'poll')
    session.arrivals.push({ ...note, way: 'full_read' })
}

/** Records a conflict: the service sent the same record with different content. Stores both versions. */
export function noteConflict(
  session: ApplySession,
  observation: EventObservation | MessageObservation,
  entity: string,
  recordId: string,
  fields: readonly string[],
  kept: string | null,
  refused: string | null,
): void {
  session.conflicts.push({
    account: observation.account,
    entity,
    submission_id: observation.submissionId,
    record_id: recordId,
    fields,
    identity: identityTextOf(observation),
    kept: kept ?? '',
    refused: refused ?? '',
    via: observation.via,
  })
}

/**
 * @returns the values that must not change, as JSON text. Excludes links, and fields that
 * the specification doesn't name.
 */
function identityTextOf(observation: EventObservation | MessageObservation): string {
  if (observation.kind === 'event') return JSON.stringify(values(observation.event, identityOf(marketEvents)))
  const { message, attachments } = observation.message
  return JSON.stringify([...values(message, identityOf(threadMessages)), attachments.map(({ name }) => name)])
}

function values(row: Row, columns: readonly string[]) {
  return columns.map((column) => row[column])
}
