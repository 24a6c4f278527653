import { type Rhythm, usualPauseMs } from './rhythm.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
/** How many usual pauses are unusual. */
const FACTOR = 3
const SHORTEST_MS = 30 * MINUTE_MS
const LONGEST_MS = 24 * HOUR_MS
/** An endpoint that never sent anything is missed sooner: on the first day somebody is looking. */
const NEVER_MS = HOUR_MS
/** So many records that no webhook told of are no chance. */
const ENOUGH = 3

/** What polls found that no webhook told of, see `unannouncedRecords`. */
export interface UnannouncedRecords {
  readonly count: number
  readonly oldestAtMs: number | null
}

/**
 * Whether webhooks have fallen silent. A quiet account alone is no reason: polls must have found what a webhook should have told of.
 * - At least 3 such records, and no delivery for three times the usual pause (that which 95 % of the last pauses did not exceed): half an
 *   hour at least, a day at most, and a day while nothing is known yet of what is usual. When there was no delivery ever: an hour after
 *   the first of them was found.
 * - Or a single one, and no delivery for a day.
 * @returns since when, in milliseconds since the epoch; null when there is no silence.
 */
export function silentSince(rhythm: Rhythm, news: UnannouncedRecords, nowMs: number): number | null {
  if (news.count === 0 || news.oldestAtMs === null) return null
  const { lastAtMs } = rhythm
  const sinceMs = lastAtMs ?? news.oldestAtMs
  const silentMs = nowMs - sinceMs
  const allowedMs = lastAtMs === null ? NEVER_MS : allowedPauseMs(rhythm)
  const silent = (news.count >= ENOUGH && silentMs >= allowedMs) || silentMs >= LONGEST_MS
  return silent ? sinceMs : null
}

/** How long a pause may last before it is unusual. */
export function allowedPauseMs(rhythm: Rhythm): number {
  const usual = usualPauseMs(rhythm)
  return usual === null ? LONGEST_MS : Math.min(LONGEST_MS, Math.max(SHORTEST_MS, FACTOR * usual))
}
