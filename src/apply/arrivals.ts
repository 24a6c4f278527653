import { marketEvents } from '../model/entities/market-events.ts'
import { threadMessages } from '../model/entities/thread-messages.ts'
import { identityOf, type Row } from '../model/entity.ts'
import type { EventFact, MessageFact } from '../model/facts.ts'
import type { ApplySession } from './session.ts'

/**
 * Notes how a record arrived: that a feed showed it before any webhook, and that a webhook followed later. A record with only the first
 * note is a lost webhook. @param firstVia how the record was first seen. @param isNew whether it is seen for the first time now.
 */
export function noteArrival(
  session: ApplySession,
  fact: EventFact | MessageFact,
  entity: string,
  recordId: string,
  firstVia: string,
  isNew: boolean,
): void {
  const { occurred_at } = fact.kind === 'event' ? fact.event : fact.message.message
  const news = isNew && firstVia !== 'webhook' && !session.isBeforeWebhooks(fact, String(occurred_at))
  const late = !isNew && fact.via === 'webhook' && firstVia !== 'webhook'
  if (!news && !late) return
  const note = { account: fact.account, entity, submission_id: fact.submissionId, record_id: recordId }
  session.arrivals.push({ ...note, way: late ? 'webhook' : 'feed' })
  // A first feed read reads everything anyway, so it is no full re-read.
  if (news && fact.isFullRead && !fact.firstFeedRead && firstVia === 'poll') session.arrivals.push({ ...note, way: 'full_read' })
}

/** Keeps both versions of a record that conflicts with the stored one. */
export function noteConflict(
  session: ApplySession,
  fact: EventFact | MessageFact,
  entity: string,
  recordId: string,
  fields: readonly string[],
  kept: string | null,
  refused: string | null,
): void {
  session.conflicts.push({
    account: fact.account,
    entity,
    submission_id: fact.submissionId,
    record_id: recordId,
    fields,
    identity: identityTextOf(fact),
    kept: kept ?? '',
    refused: refused ?? '',
    via: fact.via,
  })
}

/** The identity fields as text. Links and fields that the spec doesn't name may change without a conflict. */
function identityTextOf(fact: EventFact | MessageFact): string {
  if (fact.kind === 'event') return JSON.stringify(values(fact.event, identityOf(marketEvents)))
  const { message, attachments } = fact.message
  return JSON.stringify([...values(message, identityOf(threadMessages)), attachments.map(({ name }) => name)])
}

function values(row: Row, columns: readonly string[]) {
  return columns.map((column) => row[column])
}
