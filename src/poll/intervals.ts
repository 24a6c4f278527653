import type { Clock } from '../base/clock.ts'

/** How often submissions are polled and replayed, in milliseconds; see config/README.md. */
export interface PollPolicy {
  readonly poll: { readonly activeMs: number; readonly quietMs: number; readonly maxMs: number; readonly dormantMs: number }
  readonly replay: { readonly activeMs: number; readonly quietMs: number; readonly dormantMs: number }
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** After this long without any movement a submission is dormant. */
const DORMANT_AFTER_MS = 90 * DAY_MS
/** A submission in which nothing moved for so long is replayed as a quiet one. */
const QUIET_AFTER_MS = 7 * DAY_MS
/** The interval grows with the quiet before it, by this share of it. */
const SHARE = 1 / 4

/**
 * The time to the next poll of a submission in which nothing moved for `quietForMs`: `activeMs` at first, growing to `quietMs` within an
 * hour, then on to `maxMs`; `dormantMs` after 90 days. A tenth of jitter keeps many from coming due together.
 */
export function pollIntervalMs(policy: PollPolicy, quietForMs: number, clock: Pick<Clock, 'random'>): number {
  const { activeMs, quietMs, maxMs, dormantMs } = policy.poll
  const grown = quietForMs * SHARE
  const interval =
    quietForMs >= DORMANT_AFTER_MS ? dormantMs : quietForMs <= HOUR_MS ? clamp(grown, activeMs, quietMs) : clamp(grown, quietMs, maxMs)
  return jitter(interval, clock)
}

/** The time to the next replay of a submission in which nothing moved for `quietForMs`. It is never longer than the setting says. */
export function replayIntervalMs(policy: PollPolicy, quietForMs: number, clock: Pick<Clock, 'random'>): number {
  const { activeMs, quietMs, dormantMs } = policy.replay
  const interval = quietForMs >= DORMANT_AFTER_MS ? dormantMs : quietForMs >= QUIET_AFTER_MS ? quietMs : activeMs
  return jitter(interval, clock)
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, value))
}

/** Shortens by up to a tenth. */
function jitter(ms: number, clock: Pick<Clock, 'random'>): number {
  return Math.round(ms * (1 - 0.1 * clock.random()))
}
