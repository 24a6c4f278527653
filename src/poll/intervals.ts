import type { Clock } from '../base/clock.ts'
import { isDetail, type ReadKind } from '../model/reads.ts'
import type { LongestWaits } from '../store/reads/shorten-waits.ts'

/** Intervals of polls (`poll`) and full re-reads (`replay`), in milliseconds. See config/README.md. */
export interface PollPolicy {
  readonly poll: { readonly activeMs: number; readonly quietMs: number; readonly maxMs: number; readonly dormantMs: number }
  readonly replay: { readonly activeMs: number; readonly quietMs: number; readonly dormantMs: number }
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** A submission without activity for this long is dormant. */
const DORMANT_AFTER_MS = 90 * DAY_MS
/** After this long without activity, full re-reads of a submission use the interval `quietMs`. */
const QUIET_AFTER_MS = 7 * DAY_MS
/** The poll interval is this share of the time since the last activity. */
const QUIET_SHARE = 1 / 4

/**
 * @param quietForMs time since the last activity.
 * @returns milliseconds to the next poll, shortened by up to 10% at random. The interval begins at `activeMs`. It grows
 * up to `quietMs` in the first hour without activity, and then up to `maxMs`. After 90 days, it is `dormantMs`.
 */
export function pollIntervalMs(policy: PollPolicy, quietForMs: number, clock: Pick<Clock, 'random'>): number {
  const { activeMs, quietMs, maxMs, dormantMs } = policy.poll
  const grown = quietForMs * QUIET_SHARE
  const interval =
    quietForMs >= DORMANT_AFTER_MS ? dormantMs : quietForMs <= HOUR_MS ? clamp(grown, activeMs, quietMs) : clamp(grown, quietMs, maxMs)
  return jitter(interval, clock)
}

/** Detail reads (`outstanding`, `workspace`, `sessions`) wait this many poll intervals, within limits. */
const POLLS_PER_DETAIL = 4

/**
 * @returns milliseconds to the next read. For detail reads, 4 times `pollIntervalMs`, but at least `quietMs` and at
 * most `dormantMs`. For other reads, `pollIntervalMs`.
 */
export function readIntervalMs(policy: PollPolicy, read: ReadKind, quietForMs: number, clock: Pick<Clock, 'random'>): number {
  const interval = pollIntervalMs(policy, quietForMs, clock)
  if (!isDetail(read)) return interval
  const { quietMs, dormantMs } = policy.poll
  return clamp(interval * POLLS_PER_DETAIL, Math.min(quietMs, dormantMs), dormantMs)
}

/**
 * @returns milliseconds to the next full re-read, shortened by up to 10% at random.
 * @param quietForMs time since the last activity.
 */
export function fullReadIntervalMs(policy: PollPolicy, quietForMs: number, clock: Pick<Clock, 'random'>): number {
  const { activeMs, quietMs, dormantMs } = policy.replay
  const interval = quietForMs >= DORMANT_AFTER_MS ? dormantMs : quietForMs >= QUIET_AFTER_MS ? quietMs : activeMs
  return jitter(interval, clock)
}

/**
 * @returns the longest wait of each read, for each range of the time since the last activity. The range of the
 * most recent activity comes first.
 */
export function longestIntervals(policy: PollPolicy): LongestWaits[] {
  const noJitter = { random: () => 0 }
  return [QUIET_AFTER_MS, DORMANT_AFTER_MS, Number.POSITIVE_INFINITY].map((untilMs) => {
    const quietForMs = untilMs - 1
    return {
      untilMs,
      pollMs: readIntervalMs(policy, 'events', quietForMs, noJitter),
      detailMs: readIntervalMs(policy, 'sessions', quietForMs, noJitter),
      fullReadMs: fullReadIntervalMs(policy, quietForMs, noJitter),
    }
  })
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, value))
}

function jitter(ms: number, clock: Pick<Clock, 'random'>): number {
  return Math.round(ms * (1 - 0.1 * clock.random()))
}
