import type { Row } from '../model/entity.ts'
import type { AbsentFact } from '../model/facts.ts'
import { hasValue } from '../model/merge.ts'
import type { ApplySession } from './session.ts'
import type { WorkingSet } from './working-set.ts'

/** Marks records that the service no longer shows as gone. A record that is already marked keeps its time. Nothing is deleted (invariant 7). */
export async function applyAbsent(session: ApplySession, fact: AbsentFact): Promise<void> {
  const place = { account: fact.account, submission_id: fact.submissionId }
  await mark(
    session.marketEvents,
    fact,
    fact.events.map((event_id) => ({ ...place, event_id })),
  )
  await mark(
    session.threadMessages,
    fact,
    fact.messages.map((message_id) => ({ ...place, message_id })),
  )
  await mark(
    session.threadAttachments,
    fact,
    fact.attachments.map(({ messageId, position }) => ({ ...place, message_id: messageId, position })),
  )
}

async function mark<R extends Row>(set: WorkingSet<R>, fact: AbsentFact, keys: readonly Row[]): Promise<void> {
  await set.load(keys)
  for (const key of keys) {
    const row = set.get(key)
    if (row !== null && !hasValue(row['gone_at'])) set.put({ ...row, gone_at: fact.goneAt }, fact.cause)
  }
}
