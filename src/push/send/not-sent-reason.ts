import type { DestinationConfig } from '../../config/config.ts'
import { ID_NOT_KNOWN } from '../../store/outbox/rows.ts'
import type { PushItem } from '../contract/delivery.ts'
import { attachedDocument } from '../contract/documents.ts'
import { IMMUTABLE } from '../contract/message-id.ts'

/**
 * Five kinds of change are skipped:
 *  - an event or message that the target has already. It is inserted again after somebody deleted its row, or after a restore; a target that
 *    takes everything as new would have it twice. An operator who has it sent again wants just that.
 *  - an update of a record whose id at the target is not known, where updates are requests of their own. It would create a second record.
 *  - an update of which every column is personal and left out, where a person reads it. It would say nothing.
 *  - a change of a document that stores no file, or tells of one once more after a restore, where its file is what is sent.
 *  - that a record left the filter, where the record's id at the target is not known but needed, or where nothing but a file can be sent.
 * @returns why a change is not sent to `destination`; null when it is sent.
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
  if (operation === 'insert' || !(hasUpdateRequest || destination.kind === 'adapter')) return null
  if (hasUpdateRequest && remoteId === null) return ID_NOT_KNOWN
  if (after !== null && Object.keys(after).length === 0) {
    return 'not sent: nothing is left of it without the columns that personal_fields does not name'
  }
  return null
}

/** Of snapshots only what is told once more, after the log has lost its end, is an update: its insert was sent. */
function isRestated({ snapshot, operation }: PushItem): boolean {
  return snapshot && operation === 'update'
}

/** The same of a change with which the record ceases to pass the `filter`: that alone is news, even without a column or a file. */
function leavingReason(destination: DestinationConfig, { remoteId }: PushItem): string | null {
  if (destination.kind !== 'http') return null
  if (destination.update !== null) return remoteId === null ? ID_NOT_KNOWN : null
  return destination.request.format === 'file' ? 'not sent: it left the filter, and a request that is a file cannot say so' : null
}
