import { type ThreadMessageRow, threadMessages } from '../model/entities/thread-messages.ts'
import { identityOf } from '../model/entity.ts'
import type { MessageFact } from '../model/facts.ts'
import { firstSeen, goneAtAfter, mergeByOrigin } from '../model/merge.ts'
import { stateReads } from '../model/reads.ts'
import { noteArrival, noteConflict } from './arrivals.ts'
import { attachmentsConflict, loadAttachments, putAttachments } from './attachments.ts'
import type { ApplySession } from './session.ts'
import { touchSubmission } from './submissions.ts'

const identity = identityOf(threadMessages)

/** Applies thread messages. Each is inserted once by id; later reads only fill what was null or absent (traps 32, 33). */
export async function applyMessages(session: ApplySession, facts: readonly MessageFact[]): Promise<void> {
  await session.threadMessages.load(facts.map(keyOf))
  await loadAttachments(session, facts)
  for (const fact of facts) applyMessage(session, fact)
}

function applyMessage(session: ApplySession, fact: MessageFact): void {
  const key = keyOf(fact)
  const stored = session.threadMessages.get(key)
  if (stored === null) {
    const via = session.isBackfill(fact, String(fact.message.message.occurred_at)) ? 'backfill' : fact.via
    const row: ThreadMessageRow = { ...fact.message.message, ...key, first_seen_at: session.now, first_seen_via: via, gone_at: null }
    const cause = via === 'backfill' ? 'backfill' : fact.cause
    session.threadMessages.put(row, cause)
    putAttachments(session, { ...fact, cause })
    session.inserted += 1
    // As for events: history tells nothing that the first reads do not show.
    if (via !== 'backfill') session.wake(fact, 'events', ...stateReads)
    if (fact.via !== 'reconcile') touchSubmission(session, fact, 'last_message_at', String(row.occurred_at))
    noteArrival(session, fact, 'thread_messages', row.message_id, via, true)
    return
  }
  noteArrival(session, fact, 'thread_messages', stored.message_id, String(stored.first_seen_via), false)
  const merge = mergeByOrigin(stored, fact.message.message, identity, fact)
  const conflict = [...(merge.conflict ?? []), ...(attachmentsConflict(session, fact, stored) ? ['attachments'] : [])]
  if (conflict.length > 0 || merge.conflict !== null) {
    noteConflict(session, fact, 'thread_messages', stored.message_id, conflict, stored.raw, fact.message.message.raw)
    return
  }
  const gone_at = goneAtAfter(stored, fact.via)
  const row = { ...merge.row, ...firstSeen(stored, fact.via, session.now), gone_at } as ThreadMessageRow
  session.threadMessages.put(row, fact.cause)
  putAttachments(session, fact)
  // A reconcile run updates what follows from records once, from all of them (`DerivedFact`). A gone record has no effect.
  if (fact.via !== 'reconcile' && gone_at === null) touchSubmission(session, fact, 'last_message_at', String(row.occurred_at))
}

function keyOf(fact: MessageFact): { account: string; submission_id: string; message_id: string } {
  return { account: fact.account, submission_id: fact.submissionId, message_id: fact.message.message.message_id }
}
