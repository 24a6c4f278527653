import { marketEvents } from '../model/entities/market-events.ts'
import { threadMessages } from '../model/entities/thread-messages.ts'
import { identityOf, type Row } from '../model/entity.ts'
import type { EventFact, MessageFact } from '../model/facts.ts'
import type { ApplySession } from './session.ts'

/**
 * Notes the way a record came, where its row does not tell: that a feed showed it as news first (and that it was a replay that did),
 * and that a webhook told of it only later. So a lost webhook is a record of the first kind that never became one of the second.
 * @param firstVia how the record was first seen.
 * @param isNew whether that is now.
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
  const news = isNew && firstVia !== 'webhook' && !session.isUntold(fact, String(occurred_at))
  const late = !isNew && fact.via === 'webhook' && firstVia !== 'webhook'
  if (!news && !late) return
  const note = { account: fact.account, entity, submission_id: fact.submissionId, record_id: recordId }
  session.arrivals.push({ ...note, way: late ? 'webhook' : 'feed' })
  // What the first reading of a feed shows was there before: nothing had to be read again to find it.
  if (news && fact.fromReplay && !fact.firstWalk && firstVia === 'poll') session.arrivals.push({ ...note, way: 'replay' })
}

/** Keeps what contradicted a stored record, with what was kept. */
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

/** Links, and what the specification does not name, change without anything being contradicted. */
function identityTextOf(fact: EventFact | MessageFact): string {
  if (fact.kind === 'event') return JSON.stringify(values(fact.event, identityOf(marketEvents)))
  const { message, attachments } = fact.message
  return JSON.stringify([...values(message, identityOf(threadMessages)), attachments.map(({ name }) => name)])
}

function values(row: Row, columns: readonly string[]) {
  return columns.map((column) => row[column])
}
