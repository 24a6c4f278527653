import type { Config } from '../../config/config.ts'
import type { ClockJudgement } from '../../model/clocks.ts'

/** @returns what waits while the clock is not trusted, a phrase each; nothing when it is. */
export function waitsForClocks({ isTrusted }: ClockJudgement, { destinations }: Pick<Config, 'destinations'>): string[] {
  if (isTrusted) return []
  const aged = destinations.filter(({ maxAgeMs }) => maxAgeMs !== null).map(({ name }) => name)
  const pushes = aged.length === 0 ? [] : [`changes older than max_age wait for destination ${aged.join(', ')}`]
  return ['retention removes nothing', ...pushes]
}
