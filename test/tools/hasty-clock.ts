import { type Clock, systemClock } from '../../src/base/clock.ts'

const MOST_MS = 5

/** The system's clock, on which nobody sleeps for longer than a moment: what is tried again is tried again at once. */
export const hastyClock: Clock = { ...systemClock, sleep: (ms, signal) => systemClock.sleep(Math.min(ms, MOST_MS), signal) }
