import type { Clock } from './clock.ts'

/** A limit in time within this process, such as the end of a lease. */
export interface TimeLimit {
  /** Milliseconds left; 0 or less when it is over. */
  leftMs(): number
}

/**
 * A limit that ends `ms` milliseconds from now by the steady clock or by the wall clock, whichever comes first. The wall clock may be set back,
 * and then goes on too long; the steady one, where the clock has one, stands still while the machine sleeps.
 */
export function timeLimit(clock: Pick<Clock, 'now'> & Partial<Pick<Clock, 'steady'>>, ms: number): TimeLimit {
  const steady = () => clock.steady?.() ?? clock.now()
  const [wallEnd, steadyEnd] = [clock.now() + ms, steady() + ms]
  return { leftMs: () => Math.min(wallEnd - clock.now(), steadyEnd - steady()) }
}

/** The same limit, earlier by `ms` milliseconds. */
export function earlier(limit: TimeLimit, ms: number): TimeLimit {
  return { leftMs: () => limit.leftMs() - ms }
}

/** The limit that ends first; null is none. */
export function firstOf(a: TimeLimit | null, b: TimeLimit): TimeLimit {
  return a === null ? b : { leftMs: () => Math.min(a.leftMs(), b.leftMs()) }
}
