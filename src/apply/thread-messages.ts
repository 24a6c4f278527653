import { type ThreadAttachmentRow, threadAttachments } from '../model/entities/thread-attachments.ts'
import { type ThreadMessageRow, threadMessages } from '../model/entities/thread-messages.ts'
import { identityOf } from '../model/entity.ts'
import type { MessageFact } from '../model/facts.ts'
import { goneAtAfter, listedAttachments, mergeByOrigin, mergeRecord } from '../model/merge.ts'
import { stateReads } from '../model/reads.ts'
import { noteArrival, noteConflict } from './arrivals.ts'
import type { ApplySession } from './session.ts'
import { touchSubmission } from './submissions.ts'

const identity = identityOf(threadMessages)

/** Applies thread messages. Each is inserted once by id; later reads only fill null or absent fields (traps 32, 33). */
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
    // As for events, the first reads show the whole history.
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
  const row = { ...merge.row, gone_at } as ThreadMessageRow
  session.threadMessages.put(row, fact.cause)
  putAttachments(session, fact)
  // A reconcile run updates dependent columns once, from all records (`DerivedFact`). A gone record has no effect.
  if (fact.via !== 'reconcile' && gone_at === null) touchSubmission(session, fact, 'last_message_at', String(row.occurred_at))
}

function keyOf(fact: MessageFact): { account: string; submission_id: string; message_id: string } {
  return { account: fact.account, submission_id: fact.submissionId, message_id: fact.message.message.message_id }
}

const attachmentIdentity = identityOf(threadAttachments)

/** Loads the stored attachments at every position of the facts, and at the next one: a row there means that the stored list is longer. */
async function loadAttachments(session: ApplySession, facts: readonly MessageFact[]): Promise<void> {
  const keys = facts.flatMap((fact) =>
    Array.from({ length: fact.message.attachments.length + 1 }, (_, position) => attachmentKey(fact, position)),
  )
  await session.threadAttachments.load(keys)
}

/**
 * Whether the attachments of a message conflict with the stored ones (invariant 4). Their names and number are part of the message's
 * identity, their links are not. A missing list is no conflict and is filled.
 */
function attachmentsConflict(session: ApplySession, fact: MessageFact, stored: ThreadMessageRow): boolean {
  if (fact.via === 'reconcile') return false
  const { attachments, message } = fact.message
  const rows = attachments.map(({ position }) => session.threadAttachments.get(attachmentKey(fact, position)))
  const isRenamed = attachments.some((attachment, at) => {
    const row = rows[at] ?? null
    return row !== null && mergeRecord(row, attachment, attachmentIdentity, false).conflict !== null
  })
  if (isRenamed) return true
  const behind = session.threadAttachments.get(attachmentKey(fact, attachments.length))
  if (behind !== null && behind.gone_at === null) return listedAttachments(message.raw) !== null
  if (!rows.includes(null)) return false
  // A missing row that the stored object lists was lost in the mirror, and is restored.
  const listed = listedAttachments(stored.raw)
  if (listed === null) return rows.some((row) => row !== null)
  return rows.some((row, position) => row === null && position >= listed)
}

function putAttachments(session: ApplySession, fact: MessageFact): void {
  for (const attachment of fact.message.attachments) {
    const key = attachmentKey(fact, attachment.position)
    const stored = session.threadAttachments.get(key)
    const merge = stored === null ? null : mergeByOrigin(stored, attachment, attachmentIdentity, fact, `${attachment.position}.`)
    const gone_at = stored === null ? null : goneAtAfter(stored, fact.via)
    const row = merge === null ? { ...attachment, ...key, gone_at } : merge.conflict === null ? { ...merge.row, gone_at } : null
    if (row !== null) session.threadAttachments.put(row as ThreadAttachmentRow, fact.cause)
  }
}

function attachmentKey({ account, submissionId, message }: MessageFact, position: number) {
  return { account, submission_id: submissionId, message_id: message.message.message_id, position }
}
