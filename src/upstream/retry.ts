import { backoffMs, type Clock } from '../clock.ts'
import { TransientError } from '../errors.ts'

const BACKOFF_BASE_MS = 500
const BACKOFF_CAP_MS = 10_000

export interface RetryLimits {
  /** How often `work` is called at most, the first time included. */
  readonly attempts: number
  /** No new attempt begins later than this after the first. */
  readonly withinMs: number
}

/**
 * Calls `work` again after a TransientError, with full jitter and not before the time that the error asks for. For commands;
 * what runs for long has its own timetable.
 * @throws what `work` threw last; whatever is not transient, at once; the reason of `signal` when it aborts.
 */
export async function retryTransient<T>(clock: Clock, signal: AbortSignal, limits: RetryLimits, work: () => Promise<T>): Promise<T> {
  const lastStart = clock.now() + limits.withinMs
  for (let attempt = 1; ; attempt += 1) {
    signal.throwIfAborted()
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof TransientError) || attempt >= limits.attempts) throw error
      const waitMs = Math.max(backoffMs(clock, attempt - 1, BACKOFF_BASE_MS, BACKOFF_CAP_MS), error.retryAfterMs ?? 0)
      if (clock.now() + waitMs > lastStart) throw error
      await clock.sleep(waitMs, signal)
    }
  }
}
