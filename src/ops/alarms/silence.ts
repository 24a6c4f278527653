/** Fewer records than this may have lost their webhooks by chance. */
const ENOUGH = 3

/** Records that polls found and no webhook announced, see `unannouncedRecords`. */
export interface UnannouncedRecords {
  readonly count: number
  readonly oldestAtMs: number | null
}

/**
 * Whether webhooks have stopped. A quiet account alone is no reason: polls must have found records that no webhook announced.
 * - At least 3 such records, and no delivery for `afterMs` (`WEBHOOK_SILENCE_AFTER`).
 * - Fewer, or no delivery ever: the first of them was found `afterMs` ago.
 * @param lastAtMs when the last delivery came; null before the first. All times are milliseconds since the epoch.
 * @param found what `unannouncedRecords` found.
 * @returns since when; null when there is no silence.
 */
export function silentSince(lastAtMs: number | null, found: UnannouncedRecords, afterMs: number, nowMs: number): number | null {
  const { count, oldestAtMs } = found
  if (count === 0 || oldestAtMs === null) return null
  const countsFromMs = count >= ENOUGH ? (lastAtMs ?? oldestAtMs) : oldestAtMs
  return nowMs - countsFromMs >= afterMs ? (lastAtMs ?? oldestAtMs) : null
}
