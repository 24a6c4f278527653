import type { EventFact, MessageFact } from '../model/facts.ts'
import type { Via } from '../model/records.ts'
import type { Session } from './session.ts'

/**
 * Notes the way a record came. Every webhook is noted; a feed only where it was first, since that is what tells a lost webhook.
 * @param firstVia how the record was first seen, when that is now.
 */
export function noteArrival(session: Session, fact: EventFact | MessageFact, entity: string, recordId: string, firstVia: Via | null): void {
  if (fact.via !== 'webhook' && firstVia === null) return
  const way = fact.via === 'webhook' ? 'webhook' : firstVia === 'backfill' ? 'backfill' : 'feed'
  session.arrivals.push({ account: fact.account, entity, submission_id: fact.submissionId, record_id: recordId, way })
}

/** Keeps what contradicted a stored record, with what was kept. */
export function noteConflict(
  session: Session,
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
    kept: kept ?? '',
    refused: refused ?? '',
    via: fact.via,
  })
}
