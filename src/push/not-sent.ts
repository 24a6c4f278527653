import type { DestinationConfig } from '../config.ts'
import { ID_NOT_KNOWN } from '../store/outbox-rows.ts'
import type { PushItem } from './delivery.ts'

/**
 * Where updates are requests of their own, a change of a record that cannot be addressed would make a new record of the few columns that
 * changed, and one of which nothing may go out would say nothing. Whoever gets every change alike gets these too: they say that something
 * changed.
 * @returns why a change is not sent to `destination` at all; null when it is sent.
 */
export function whyNotSent(destination: DestinationConfig, { operation, remoteId, after }: PushItem): string | null {
  if (destination.kind !== 'http' || destination.update === null || operation === 'insert') return null
  if (remoteId === null) return ID_NOT_KNOWN
  if (after !== null && Object.keys(after).length === 0) {
    return 'not sent: nothing is left of it without the columns that personal_fields does not name'
  }
  return null
}
