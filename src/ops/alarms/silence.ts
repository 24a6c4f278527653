import { type Rhythm, usualPauseMs } from './rhythm.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
/** A pause is unusual from this many usual pauses on. */
const FACTOR = 3
const SHORTEST_MS = 30 * MINUTE_MS
const LONGEST_MS = 24 * HOUR_MS
/** Shorter for an endpoint that never sent anything: on the first day somebody is looking. */
const NEVER_MS = HOUR_MS
/** Fewer unannounced records may be chance. */
const ENOUGH = 3

/** Records that polls found and no webhook announced, see `unannouncedRecords`. */
export interface UnannouncedRecords {
  readonly count: number
  readonly oldestAtMs: number | null
}

/**
 * Whether webhooks have stopped. A quiet account alone is no reason: polls must have found records that no webhook announced.
 * - At least 3 such records, and no delivery for three times the usual pause (the one that 95 % of the last pauses did not exceed), at least
 *   half an hour and at most a day; a day while the usual pause is unknown. Without any delivery ever: an hour after the first was found.
 * - Or a single such record, and no delivery for a day.
 * @param found what `unannouncedRecords` found.
 * @returns since when, in milliseconds since the epoch; null when there is no silence.
 */
export function silentSince(rhythm: Rhythm, found: UnannouncedRecords, nowMs: number): number | null {
  if (found.count === 0 || found.oldestAtMs === null) return null
  const { lastAtMs } = rhythm
  const sinceMs = lastAtMs ?? found.oldestAtMs
  const silentMs = nowMs - sinceMs
  const allowedMs = lastAtMs === null ? NEVER_MS : allowedPauseMs(rhythm)
  const silent = (found.count >= ENOUGH && silentMs >= allowedMs) || silentMs >= LONGEST_MS
  return silent ? sinceMs : null
}

/** How long a pause may last before it counts as silence, in milliseconds. */
export function allowedPauseMs(rhythm: Rhythm): number {
  const usual = usualPauseMs(rhythm)
  return usual === null ? LONGEST_MS : Math.min(LONGEST_MS, Math.max(SHORTEST_MS, FACTOR * usual))
}
