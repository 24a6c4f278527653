import { type ThreadAttachmentRow, threadAttachments } from '../model/entities/thread-attachments.ts'
import { type ThreadMessageRow, threadMessages } from '../model/entities/thread-messages.ts'
import { identityOf } from '../model/entity.ts'
import { goneAtAfter, listedAttachments, mergeByOrigin, mergeRecord } from '../model/merge.ts'
import type { MessageObservation } from '../model/observations.ts'
import { stateReads } from '../model/reads.ts'
import { noteArrival, noteConflict } from './arrivals.ts'
import type { ApplySession } from './session.ts'
import { touchSubmission } from './submissions.ts'

const identity = identityOf(threadMessages)

/**
 * Inserts each thread message once, by id. Later deliveries only fill fields that are null or missing (traps 32, 33).
 * Later feed reads also replace values, except in identity columns, which must not change. A different value in an
 * identity column is a conflict, except in a reconcile run, which corrects the row.
 */
export async function applyMessages(session: ApplySession, observations: readonly MessageObservation[]): Promise<void> {
  await session.threadMessages.load(observations.map(keyOf))
  await loadAttachments(session, observations)
  for (const observation of observations) applyMessage(session, observation)
}

function applyMessage(session: ApplySession, observation: MessageObservation): void {
  const key = keyOf(observation)
  const stored = session.threadMessages.get(key)
  if (stored === null) {
    const via = session.isBackfill(observation, String(observation.message.message.occurred_at)) ? 'backfill' : observation.via
    const row: ThreadMessageRow = { ...observation.message.message, ...key, first_seen_at: session.now, first_seen_via: via, gone_at: null }
    const cause = via === 'backfill' ? 'backfill' : observation.cause
    session.threadMessages.put(row, cause)
    putAttachments(session, { ...observation, cause })
    session.inserted += 1
    // A backfill requests no reads, because the submission's first reads are due anyway.
    if (via !== 'backfill') session.wake(observation, 'events', ...stateReads)
    if (observation.via !== 'reconcile') touchSubmission(session, observation, 'last_message_at', String(row.occurred_at))
    noteArrival(session, observation, 'thread_messages', row.message_id, via, true)
    return
  }
  noteArrival(session, observation, 'thread_messages', stored.message_id, String(stored.first_seen_via), false)
  const merge = mergeByOrigin(stored, observation.message.message, identity, observation)
  const conflict = [...(merge.conflict ?? []), ...(attachmentsConflict(session, observation, stored) ? ['attachments'] : [])]
  if (conflict.length > 0 || merge.conflict !== null) {
    noteConflict(session, observation, 'thread_messages', stored.message_id, conflict, stored.raw, observation.message.message.raw)
    return
  }
  const gone_at = goneAtAfter(stored, observation.via)
  const row = { ...merge.row, gone_at } as ThreadMessageRow
  session.threadMessages.put(row, observation.cause)
  putAttachments(session, observation)
  // A reconcile run updates `last_message_at` once, from all messages (`DerivedObservation`). A
  // gone message doesn't count.
  if (observation.via !== 'reconcile' && gone_at === null) touchSubmission(session, observation, 'last_message_at', String(row.occurred_at))
}

function keyOf(observation: MessageObservation): { account: string; submission_id: string; message_id: string } {
  return { account: observation.account, submission_id: observation.submissionId, message_id: observation.message.message.message_id }
}

const attachmentIdentity = identityOf(threadAttachments)

/**
 * Loads the stored attachments at the positions that each observation lists, and at the next position. If the next
 * position has a row, the stored list is longer than the received list.
 */
async function loadAttachments(session: ApplySession, observations: readonly MessageObservation[]): Promise<void> {
  const keys = observations.flatMap((observation) =>
    Array.from({ length: observation.message.attachments.length + 1 }, (_, position) => attachmentKey(observation, position)),
  )
  await session.threadAttachments.load(keys)
}

/**
 * Whether the received attachments of a message conflict with the stored ones. A different number of attachments or a
 * different name is a conflict. A different link isn't a conflict. If only the received or only the stored message has
 * a list of attachments, there is no conflict, and the list is kept. Always false for a reconcile run, which corrects
 * attachments.
 */
function attachmentsConflict(session: ApplySession, observation: MessageObservation, stored: ThreadMessageRow): boolean {
  if (observation.via === 'reconcile') return false
  const { attachments, message } = observation.message
  const rows = attachments.map(({ position }) => session.threadAttachments.get(attachmentKey(observation, position)))
  const isRenamed = attachments.some((attachment, at) => {
    const row = rows[at] ?? null
    return row !== null && mergeRecord(row, attachment, attachmentIdentity, false).conflict !== null
  })
  if (isRenamed) return true
  const behind = session.threadAttachments.get(attachmentKey(observation, attachments.length))
  if (behind !== null && behind.gone_at === null) return listedAttachments(message.raw) !== null
  if (!rows.includes(null)) return false
  // If the stored JSON lists an attachment that has no row, the mirror lost the row. Restoring the row is no conflict.
  const listed = listedAttachments(stored.raw)
  if (listed === null) return rows.some((row) => row !== null)
  return rows.some((row, position) => row === null && position >= listed)
}

function putAttachments(session: ApplySession, observation: MessageObservation): void {
  for (const attachment of observation.message.attachments) {
    const key = attachmentKey(observation, attachment.position)
    const stored = session.threadAttachments.get(key)
    const merge = stored === null ? null : mergeByOrigin(stored, attachment, attachmentIdentity, observation, `${attachment.position}.`)
    const gone_at = stored === null ? null : goneAtAfter(stored, observation.via)
    const row = merge === null ? { ...attachment, ...key, gone_at } : merge.conflict === null ? { ...merge.row, gone_at } : null
    if (row !== null) session.threadAttachments.put(row as ThreadAttachmentRow, observation.cause)
  }
}

function attachmentKey({ account, submissionId, message }: MessageObservation, position: number) {
  return { account, submission_id: submissionId, message_id: message.message.message_id, position }
}
