import type { DestinationConfig } from '../../config/config.ts'
import { ID_NOT_KNOWN } from '../../store/outbox/rows.ts'
import type { PushItem } from '../contract/delivery.ts'
import { IMMUTABLE } from '../contract/message-id.ts'

/**
 * An event or a message is there once, for ever. One that a hand had deleted here, or that was learned anew after a restore, is an insert
 * once more: a target that takes everything as new, and whose id of it is known, would have it twice.
 *
 * Where updates are requests of their own, a change of a record that cannot be addressed would make a new record of the few columns that
 * changed. There, and where an adapter tells people of it, one of which nothing may go out would say nothing. Whoever gets every change
 * alike gets these too: they say that something changed.
 * @returns why a change is not sent to `destination` at all; null when it is sent.
 */
export function notSentReason(destination: DestinationConfig, { entity, operation, remoteId, after }: PushItem): string | null {
  if (!destination.idempotent && operation === 'insert' && IMMUTABLE.has(entity) && remoteId !== null)
    return `not sent: it has this record already, as ${remoteId}`
  const addresses = destination.kind === 'http' && destination.update !== null
  if (operation === 'insert' || !(addresses || destination.kind === 'adapter')) return null
  if (addresses && remoteId === null) return ID_NOT_KNOWN
  if (after !== null && Object.keys(after).length === 0) {
    return 'not sent: nothing is left of it without the columns that personal_fields does not name'
  }
  return null
}
