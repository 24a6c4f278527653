import type { Clock } from '../base/clock.ts'
import { isDetail, type ReadKind } from '../model/reads.ts'

/** How often submissions are polled and replayed, in milliseconds; see config/README.md. */
export interface PollPolicy {
  readonly poll: { readonly activeMs: number; readonly quietMs: number; readonly maxMs: number; readonly dormantMs: number }
  readonly replay: { readonly activeMs: number; readonly quietMs: number; readonly dormantMs: number }
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** A submission without activity for this long is dormant. */
const DORMANT_AFTER_MS = 90 * DAY_MS
/** A submission without activity for this long is replayed as a quiet one. */
const QUIET_AFTER_MS = 7 * DAY_MS
/** The poll interval is this share of the time since the last activity. */
const QUIET_SHARE = 1 / 4

/**
 * @param quietForMs time since the submission's last activity.
 * @returns milliseconds to the next poll: `activeMs` at first, growing to `quietMs` within an hour, then to `maxMs`; `dormantMs` after 90
 * days. Up to a tenth of jitter keeps many submissions from coming due together.
 */
export function pollIntervalMs(policy: PollPolicy, quietForMs: number, clock: Pick<Clock, 'random'>): number {
  const { activeMs, quietMs, maxMs, dormantMs } = policy.poll
  const grown = quietForMs * QUIET_SHARE
  const interval =
    quietForMs >= DORMANT_AFTER_MS ? dormantMs : quietForMs <= HOUR_MS ? clamp(grown, activeMs, quietMs) : clamp(grown, quietMs, maxMs)
  return jitter(interval, clock)
}

/** A state read beside the requirements view comes once in so many polls. */
const POLLS_PER_DETAIL = 4

/** @returns milliseconds to the next read of a kind: `pollIntervalMs`; of a read beside the requirements view 4 times that, from `quietMs` to `dormantMs`. */
export function readIntervalMs(policy: PollPolicy, read: ReadKind, quietForMs: number, clock: Pick<Clock, 'random'>): number {
  const interval = pollIntervalMs(policy, quietForMs, clock)
  if (!isDetail(read)) return interval
  const { quietMs, dormantMs } = policy.poll
  return clamp(interval * POLLS_PER_DETAIL, Math.min(quietMs, dormantMs), dormantMs)
}

/** @returns milliseconds to the next replay, never longer than the setting. @param quietForMs time since the submission's last activity. */
export function replayIntervalMs(policy: PollPolicy, quietForMs: number, clock: Pick<Clock, 'random'>): number {
  const { activeMs, quietMs, dormantMs } = policy.replay
  const interval = quietForMs >= DORMANT_AFTER_MS ? dormantMs : quietForMs >= QUIET_AFTER_MS ? quietMs : activeMs
  return jitter(interval, clock)
}

/** The longest waits of reads, by the time since the last activity. Jitter only shortens. */
export function longestIntervals(policy: PollPolicy): (quietMs: number, read: ReadKind) => { pollMs: number; replayMs: number } {
  const noJitter = { random: () => 0 }
  return (quietMs, read) => ({
    pollMs: readIntervalMs(policy, read, quietMs, noJitter),
    replayMs: replayIntervalMs(policy, quietMs, noJitter),
  })
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, value))
}

/** Shortens `ms` by up to a tenth. */
function jitter(ms: number, clock: Pick<Clock, 'random'>): number {
  return Math.round(ms * (1 - 0.1 * clock.random()))
}
