import { msFromTime } from '../../model/time.ts'
import type { UnannouncedRecords } from '../../store/operators/alarm-queries.ts'

/** Minimum records without a webhook. Fewer may have lost their webhooks by chance. */
const ENOUGH = 3

/**
 * @returns the start of a webhook outage, or null. Quiet accounts don't count: polls must have found records that no webhook announced.
 * - At least 3 such records: no delivery for `afterMs` (`WEBHOOK_SILENCE_AFTER`).
 * - Fewer records, or no delivery ever: the first record was found `afterMs` ago.
 * @param lastAtMs time of the last delivery; null before the first. All times are milliseconds since the epoch.
 */
export function silentSince(lastAtMs: number | null, found: UnannouncedRecords, afterMs: number, nowMs: number): number | null {
  const { count, oldestAt } = found
  if (count === 0 || oldestAt === null) return null
  const oldestAtMs = msFromTime(oldestAt)
  const countsFromMs = count >= ENOUGH ? (lastAtMs ?? oldestAtMs) : oldestAtMs
  return nowMs - countsFromMs >= afterMs ? (lastAtMs ?? oldestAtMs) : null
}
