import { msFromTime } from '../../model/time.ts'
import type { UnannouncedRecords } from '../../store/operators/alarm-queries.ts'

/**
 * If at least this many records were not announced by a webhook, the age of the last delivery shows whether there is an
 * outage. Fewer records may lack webhooks by chance.
 */
const ENOUGH = 3

/**
 * @returns the start of a webhook outage in ms since the epoch; null if there is no outage.
 * An outage requires unannounced records: records that polls found and no webhook announced.
 * - With 3 or more unannounced records, the last delivery must be at least `afterMs` old (`WEBHOOK_SILENCE_AFTER`).
 * - With fewer, or if no delivery ever arrived, the oldest such record must have been found at least `afterMs` ago.
 *
 * @param lastAtMs time of the last delivery in ms since the epoch; null before the first delivery.
 */
export function silentSince(lastAtMs: number | null, found: UnannouncedRecords, afterMs: number, nowMs: number): number | null {
  const { count, oldestAt } = found
  if (count === 0 || oldestAt === null) return null
  const oldestAtMs = msFromTime(oldestAt)
  const countsFromMs = count >= ENOUGH ? (lastAtMs ?? oldestAtMs) : oldestAtMs
  return nowMs - countsFromMs >= afterMs ? (lastAtMs ?? oldestAtMs) : null
}
