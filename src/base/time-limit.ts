import type { Clock } from './clock.ts'

/** A time limit within this process, such as the end of a lease. */
export interface TimeLimit {
  /** Milliseconds left; 0 or negative after the end. */
  leftMs(): number
}

/**
 * @returns a limit that ends when `ms` milliseconds have passed on the wall clock or on the steady clock. One clock
 * isn't enough: the wall clock may be set back, and the steady clock may stop while the machine sleeps.
 */
export function timeLimit(clock: Pick<Clock, 'now'> & Partial<Pick<Clock, 'steady'>>, ms: number): TimeLimit {
  const steady = () => clock.steady?.() ?? clock.now()
  const [wallEnd, steadyEnd] = [clock.now() + ms, steady() + ms]
  return { leftMs: () => Math.min(wallEnd - clock.now(), steadyEnd - steady()) }
}

export function earlier(limit: TimeLimit, ms: number): TimeLimit {
  return { leftMs: () => limit.leftMs() - ms }
}

/** @returns the limit that ends first. @param a null: no limit. */
export function firstOf(a: TimeLimit | null, b: TimeLimit): TimeLimit {
  return a === null ? b : { leftMs: () => Math.min(a.leftMs(), b.leftMs()) }
}
