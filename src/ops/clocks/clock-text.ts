import type { Config } from '../../config/config.ts'
import type { ClockJudgement } from '../../model/clocks.ts'

/** @returns what waits while the clock is not trusted, a phrase each; nothing when it is. */
export function waitsForClocks({ isTrusted }: ClockJudgement, { destinations }: Pick<Config, 'destinations'>): string[] {
  if (isTrusted) return []
  const aged = destinations.filter(({ maxAgeMs }) => maxAgeMs !== null).map(({ name }) => name)
  const pushes = aged.length === 0 ? [] : [`changes older than max_age wait for destination ${aged.join(', ')}`]
  return ['retention removes nothing', ...pushes]
}

/** From this difference from the service's clock on, ours is wrong: well below the 300 s from which deliveries are refused. */
export const SKEW_MS = 60_000

/** How far our clock is from the service's. */
export function apartText(aheadMs: number): string {
  return `${Math.round(Math.abs(aheadMs) / 1_000)} s ${aheadMs > 0 ? 'ahead of' : 'behind'} the service's clock`
}

/** What a clock that is wrong leads to. */
export function skewText(aheadMs: number): string {
  return `the clock of this machine is ${apartText(aheadMs)}, and from 300 s on every delivery is refused`
}
