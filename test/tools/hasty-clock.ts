import { type Clock, systemClock } from '../../src/base/clock.ts'

const MOST_MS = 5

/** The system's clock with short sleeps, so that retries are immediate. */
export const hastyClock: Clock = { ...systemClock, sleep: (ms, signal) => systemClock.sleep(Math.min(ms, MOST_MS), signal) }
