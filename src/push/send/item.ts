import type { DestinationConfig } from '../../config/config.ts'
import { personalDataFilter } from '../../model/personal.ts'
import { ID_NOT_KNOWN } from '../../store/outbox/rows.ts'
import type { OutboxRow } from '../../store/outbox/work.ts'
import { directionOf } from '../contract/change-message.ts'
import type { PushItem } from '../contract/delivery.ts'
import { attachedDocument } from '../contract/documents.ts'
import { IMMUTABLE } from '../contract/message-id.ts'

export type ItemMaker = (row: OutboxRow) => PushItem

/** Makes items from outbox rows, without personal columns that the destination didn't opt in to. */
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
      // The text equals the parsed object: the program wrote each column exactly once.
      afterText: after === row.after ? row.afterText : null,
      ...directionOf(row.direction),
      submission: strip('submissions', row.submission),
      mapping: row.mapping,
      leftFilter: row.leftFilter,
      // Under a new message id, the target may create a new record.
      remoteId: row.resent === 'new' && row.operation === 'insert' ? null : row.remoteId,
      attempts: row.attempts,
      progress: row.progress,
    }
  }
}

/**
 * Five kinds of change are skipped:
 * - an event or message that the target already has, inserted again after its row was deleted or after a restore. A non-idempotent target
 * would store a duplicate. A resend still sends it.
 * - an update of a record whose id at the target is unknown, if updates have a separate request. It would create a second record.
 * - an update of only personal columns, all removed. For a human reader it would be empty.
 * - if the destination gets files: a change of a document without a new file, or a repeat after a restore.
 * - a record that left the filter, if its id at the target is needed but unknown, or if only files can be sent.
 * @returns why a change isn't sent to `destination`; null if it is sent.
 */
export function notSentReason(destination: DestinationConfig, item: PushItem, isResent: boolean): string | null {
  const { entity, operation, remoteId, after } = item
  if (item.leftFilter) return leavingReason(destination, item)
  if (entity === 'documents' && destination.kind === 'http' && destination.documents) {
    if (attachedDocument(item) === null) return 'not sent: this change stores no document'
    return isRestated(item) && !isResent ? 'not sent: its document was sent before' : null
  }
  if (!isResent && !destination.idempotent && operation === 'insert' && IMMUTABLE.has(entity) && remoteId !== null)
    return `not sent: it has this record already, as ${remoteId}`
  const hasUpdateRequest = destination.kind === 'http' && destination.update !== null
  if (operation === 'insert' || !(hasUpdateRequest || destination.kind === 'ams360')) return null
  if (hasUpdateRequest && remoteId === null) return ID_NOT_KNOWN
  if (after !== null && Object.keys(after).length === 0) {
    return 'not sent: nothing is left of it without the columns that personal_fields does not name'
  }
  return null
}

/** Only restatements after a log divergence are snapshot updates: the insert was sent. */
function isRestated({ snapshot, operation }: PushItem): boolean {
  return snapshot && operation === 'update'
}

/** For changes with which the record left the `filter`. They're sent even without columns or a file. */
function leavingReason(destination: DestinationConfig, { remoteId }: PushItem): string | null {
  if (destination.kind !== 'http') return null
  if (destination.update !== null) return remoteId === null ? ID_NOT_KNOWN : null
  return destination.request.format === 'file' ? 'not sent: it left the filter, and a request that is a file cannot say so' : null
}
