import { type ThreadAttachmentRow, threadAttachments } from '../model/entities/thread-attachments.ts'
import type { ThreadMessageRow } from '../model/entities/thread-messages.ts'
import { identityOf } from '../model/entity.ts'
import type { MessageFact } from '../model/facts.ts'
import { goneAfter, listedAttachments, mergeFound, mergeRecord } from '../model/merge.ts'
import type { ApplySession } from './session.ts'

const identity = identityOf(threadAttachments)

/** Loads what is kept at every position that the facts name, and at the one behind: a row there tells that the kept list is longer. */
export async function loadAttachments(session: ApplySession, facts: readonly MessageFact[]): Promise<void> {
  const keys = facts.flatMap((fact) => Array.from({ length: fact.message.attachments.length + 1 }, (_, position) => keyOf(fact, position)))
  await session.threadAttachments.load(keys)
}

/**
 * Whether the attachments that a message shows now contradict those that are kept (invariant 4): all but their links is the message's
 * identity, how many they are too. A message without a list says nothing, and one that had none is filled.
 * @param stored the message as it is kept.
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
  // A row that is missing although the kept object names it was lost here, and is put back.
  const listed = listedAttachments(stored.raw)
  if (listed === null) return rows.some((row) => row !== null)
  return rows.some((row, position) => row === null && position >= listed)
}

/** Puts the attachments of a message that was not refused. */
export function putAttachments(session: ApplySession, fact: MessageFact): void {
  for (const attachment of fact.message.attachments) {
    const key = keyOf(fact, attachment.position)
    const stored = session.threadAttachments.get(key)
    const merge = stored === null ? null : mergeFound(stored, attachment, identity, fact, `${attachment.position}.`)
    const gone_at = stored === null ? null : goneAfter(stored, fact.via)
    const row = merge === null ? { ...attachment, ...key, gone_at } : merge.conflict === null ? { ...merge.row, gone_at } : null
    if (row !== null) session.threadAttachments.put(row as ThreadAttachmentRow, fact.cause)
  }
}

function keyOf({ account, submissionId, message }: MessageFact, position: number) {
  return { account, submission_id: submissionId, message_id: message.message.message_id, position }
}
