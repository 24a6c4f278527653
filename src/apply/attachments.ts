import { type ThreadAttachmentRow, threadAttachments } from '../model/entities/thread-attachments.ts'
import type { ThreadMessageRow } from '../model/entities/thread-messages.ts'
import { identityOf } from '../model/entity.ts'
import type { MessageFact } from '../model/facts.ts'
import { goneAtAfter, listedAttachments, mergeByOrigin, mergeRecord } from '../model/merge.ts'
import type { ApplySession } from './session.ts'

const identity = identityOf(threadAttachments)

/** Loads the stored attachments at every position of the facts, and at the next one: a row there means that the stored list is longer. */
export async function loadAttachments(session: ApplySession, facts: readonly MessageFact[]): Promise<void> {
  const keys = facts.flatMap((fact) => Array.from({ length: fact.message.attachments.length + 1 }, (_, position) => keyOf(fact, position)))
  await session.threadAttachments.load(keys)
}

/**
 * Whether the attachments of a message contradict the stored ones (invariant 4). Their names and number belong to the message's identity,
 * their links do not. A message without a list contradicts nothing, and a stored message without a list is filled.
 * @param stored the stored message.
 */
export function attachmentsConflict(session: ApplySession, fact: MessageFact, stored: ThreadMessageRow): boolean {
  if (fact.via === 'reconcile') return false
  const { attachments, message } = fact.message
  const rows = attachments.map(({ position }) => session.threadAttachments.get(keyOf(fact, position)))
  const isRenamed = attachments.some((attachment, at) => {
    const row = rows[at] ?? null
    return row !== null && mergeRecord(row, attachment, identity, false).conflict !== null
  })
  if (isRenamed) return true
  const behind = session.threadAttachments.get(keyOf(fact, attachments.length))
  if (behind !== null && behind.gone_at === null) return listedAttachments(message.raw) !== null
  if (!rows.includes(null)) return false
  // A row that is missing although the stored object lists it was lost in the mirror, and is restored.
  const listed = listedAttachments(stored.raw)
  if (listed === null) return rows.some((row) => row !== null)
  return rows.some((row, position) => row === null && position >= listed)
}

/** Stores the attachments of a message that has no conflict. */
export function putAttachments(session: ApplySession, fact: MessageFact): void {
  for (const attachment of fact.message.attachments) {
    const key = keyOf(fact, attachment.position)
    const stored = session.threadAttachments.get(key)
    const merge = stored === null ? null : mergeByOrigin(stored, attachment, identity, fact, `${attachment.position}.`)
    const gone_at = stored === null ? null : goneAtAfter(stored, fact.via)
    const row = merge === null ? { ...attachment, ...key, gone_at } : merge.conflict === null ? { ...merge.row, gone_at } : null
    if (row !== null) session.threadAttachments.put(row as ThreadAttachmentRow, fact.cause)
  }
}

function keyOf({ account, submissionId, message }: MessageFact, position: number) {
  return { account, submission_id: submissionId, message_id: message.message.message_id, position }
}
