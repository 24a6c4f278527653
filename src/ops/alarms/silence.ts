import { msFromTime } from '../../model/time.ts'
import type { UnannouncedRecords } from '../../store/operators/alarm-queries.ts'

/** Minimum number of unannounced records. Fewer records may have lost their webhooks by chance. */
const ENOUGH = 3

/**
 * @returns the start of a webhook outage in ms since the epoch; null if there is no outage.
 * An inactive account has no outage: polls must have found records that no webhook announced.
 * - With at least 3 such records, an outage needs `afterMs` (`WEBHOOK_SILENCE_AFTER`) without a delivery.
 * - With fewer records, or without any delivery ever, the first record must have been found `afterMs` ago.
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
