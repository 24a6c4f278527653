import type { DestinationConfig } from '../../config/config.ts'
import { personalDataFilter } from '../../model/personal.ts'
import { ID_NOT_KNOWN } from '../../store/outbox/rows.ts'
import type { OutboxRow } from '../../store/outbox/work.ts'
import { directionOf } from '../contract/change-message.ts'
import type { PushItem } from '../contract/delivery.ts'
import { attachedDocument } from '../contract/documents.ts'
import { IMMUTABLE } from '../contract/message-id.ts'

export type ItemMaker = (row: OutboxRow) => PushItem

/** Makes items from outbox rows. Leaves out personal columns that the destination didn't opt in to. */
export function itemMaker(destination: Pick<DestinationConfig, 'name' | 'personalFields' | 'taxIdFields'>): ItemMaker {
  const { name, personalFields, taxIdFields } = destination
  const strip = personalDataFilter(personalFields, taxIdFields)
  return (row) => {
    const after = strip(row.entity, row.after)
    return {
      outboxId: row.outboxId,
      messageId: row.messageId,
      destination: name,
      account: row.account,
      submissionId: row.submissionId,
      entity: row.entity,
      entityId: row.entityId,
      operation: row.operation,
      cause: row.cause,
      seq: row.seq,
      snapshot: row.snapshot,
      changedAt: row.changedAt,
      before: strip(row.entity, row.before),
      after,
      // The stored text is used only if no column was left out.
      afterText: after === row.after ? row.afterText : null,
      ...directionOf(row.direction),
      submission: strip('submissions', row.submission),
      mapping: row.mapping,
      leftFilter: row.leftFilter,
      // With a new message id, the target may create a new record. The id of the old record is then wrong.
      remoteId: row.resent === 'new' && row.operation === 'insert' ? null : row.remoteId,
      attempts: row.attempts,
      progress: row.progress,
    }
  }
}

/**
 * Decides whether a change is sent to `destination`. These changes aren't sent:
 * - if duplicates are harmful: an event or message that was inserted again after its row was deleted, or after a
 *   restore. The target already has the record and would store a duplicate. A resend is sent anyway.
 * - if updates have their own request: an update of a record whose id at the target is unknown. The update would
 *   create a second record.
 * - if updates have their own request, or for AMS360: an update whose changed columns were all left out as personal. A
 *   person would see an empty note.
 * - if the destination gets document files: a change of a document without a new file, or a repeat after a restore.
 * - if updates have their own request: a change after which a record no longer passes the `filter`, if the record's id
 *   at the target is unknown.
 * - if the request is only a document file: a change after which a record no longer passes the `filter`.
 * @returns the reason; null if the change is sent.
 */
export function notSentReason(destination: DestinationConfig, item: PushItem, isResent: boolean): string | null {
  const { entity, operation, remoteId, after } = item
  if (item.leftFilter) return leavingReason(destination, item)
  if (entity === 'documents' && destination.kind === 'http' && destination.documents) {
    if (attachedDocument(item) === null) return 'not sent: this change stores no document'
    return isRestated(item) && !isResent ? 'not sent: the document was sent before' : null
  }
  if (!isResent && !destination.idempotent && operation === 'insert' && IMMUTABLE.has(entity) && remoteId !== null)
    return `not sent: the destination already has this record, as ${remoteId}`
  const hasUpdateRequest = destination.kind === 'http' && destination.update !== null
  if (operation === 'insert' || !(hasUpdateRequest || destination.kind === 'ams360')) return null
  if (hasUpdateRequest && remoteId === null) return ID_NOT_KNOWN
  if (after !== null && Object.keys(after).length === 0) {
    return 'not sent: it only changes personal columns that personal_fields does not list'
  }
  return null
}

/**
 * @returns whether the change sends a record again after a restore (see restate.ts). All other
 * snapshot rows are inserts.
 */
function isRestated({ snapshot, operation }: PushItem): boolean {
  return snapshot && operation === 'update'
}

/**
 * Decides whether to send a change that makes a record fail the `filter`. The change may have no columns and no file.
 * @returns why the change isn't sent; null if the change is sent.
 */
function leavingReason(destination: DestinationConfig, { remoteId }: PushItem): string | null {
  if (destination.kind !== 'http') return null
  if (destination.update !== null) return remoteId === null ? ID_NOT_KNOWN : null
  return destination.request.format === 'file' ? 'not sent: the record left the filter, and a file request cannot report this' : null
}
