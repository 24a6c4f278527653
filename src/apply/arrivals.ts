import { marketEvents } from '../model/entities/market-events.ts'
import { threadMessages } from '../model/entities/thread-messages.ts'
import { identityOf, type Row } from '../model/entity.ts'
import type { EventObservation, MessageObservation } from '../model/observations.ts'
import type { ApplySession } from './session.ts'

/**
 * Records how a record arrived: first by a feed, or by a webhook after a feed. A record with only a feed arrival is a lost webhook. @param
 * firstVia how the record was first seen. @param isNew whether this is the first time.
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
  // A first feed read doesn't count as a full re-read, although it reads everything.
  if (news && observation.isFullRead && !observation.firstFeedRead && firstVia === 'poll')
    session.arrivals.push({ ...note, way: 'full_read' })
}

/** Records a conflict, with the stored and the rejected version. */
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

/** Fields whose change is a conflict, as text. Links and fields outside the spec may change. */
function identityTextOf(observation: EventObservation | MessageObservation): string {
  if (observation.kind === 'event') return JSON.stringify(values(observation.event, identityOf(marketEvents)))
  const { message, attachments } = observation.message
  return JSON.stringify([...values(message, identityOf(threadMessages)), attachments.map(({ name }) => name)])
}

function values(row: Row, columns: readonly string[]) {
  return columns.map((column) => row[column])
}
