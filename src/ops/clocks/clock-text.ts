import type { Config } from '../../config/config.ts'
import type { ClockJudgement } from '../../model/clocks.ts'

/** @returns phrases about the work that waits while the clock isn't trusted; empty if the clock is trusted. */
export function waitsForClocks({ isTrusted }: ClockJudgement, { destinations }: Pick<Config, 'destinations'>): string[] {
  if (isTrusted) return []
  const aged = destinations.filter(({ maxAgeMs }) => maxAgeMs !== null).map(({ name }) => name)
  const pushes = aged.length === 0 ? [] : [`changes older than max_age wait for destination ${aged.join(', ')}`]
  return ['retention waits', ...pushes]
}

/**
 * `clock_skew` fires if our clock differs from the service's clock by at least this many ms.
 * From 300 s on, the receiver rejects every delivery.
 */
export const SKEW_MS = 60_000

export function apartText(aheadMs: number): string {
  return `${Math.round(Math.abs(aheadMs) / 1_000)} s ${aheadMs > 0 ? 'ahead of' : 'behind'} the service's clock`
}

export function skewText(aheadMs: number): string {
  return `the clock of this machine is ${apartText(aheadMs)}; from 300 s, every delivery is rejected`
}
