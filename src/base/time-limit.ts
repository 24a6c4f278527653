import type { Clock } from './clock.ts'

/** A time limit within this process, such as the end of a lease. */
export interface TimeLimit {
  /** Milliseconds left; 0 or less after its end. */
  leftMs(): number
}

/**
 * A limit that ends `ms` milliseconds from now by the steady or the wall clock, whichever comes first: the wall clock may be set back, and
 * the steady one may stop while the machine sleeps.
 */
export function timeLimit(clock: Pick<Clock, 'now'> & Partial<Pick<Clock, 'steady'>>, ms: number): TimeLimit {
  const steady = () => clock.steady?.() ?? clock.now()
  const [wallEnd, steadyEnd] = [clock.now() + ms, steady() + ms]
  return { leftMs: () => Math.min(wallEnd - clock.now(), steadyEnd - steady()) }
}

export function earlier(limit: TimeLimit, ms: number): TimeLimit {
  return { leftMs: () => limit.leftMs() - ms }
}

/** The limit that ends first; null: no limit. */
export function firstOf(a: TimeLimit | null, b: TimeLimit): TimeLimit {
  return a === null ? b : { leftMs: () => Math.min(a.leftMs(), b.leftMs()) }
}
