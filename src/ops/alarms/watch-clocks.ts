import type { Config } from '../../config/config.ts'
import { type ClockJudgement, differenceText } from '../../model/clocks.ts'
import { waitsForClocks } from '../clocks/clock-text.ts'
import { type Problem, problem } from '../health/problem.ts'
import type { Watcher } from './watcher.ts'

export const clockWatcher: Watcher = {
  names: ['clocks_disagree'],
  check: async ({ config, clocks }) => [clocksDisagree(await clocks.judge(), config)],
}

/**
 * @returns the problem `clocks_disagree`. The level is `on` in these cases; see `judgeClocks`:
 * - A service's clock is within an hour of ours, but the database server's clock differs by an hour or more.
 * - No service's clock is within an hour of ours, and a known clock differs from ours by a minute or more, or a record
 *   is at least a minute in the future.
 * - No service reported its time, and our clock isn't trusted.
 *
 * `clock_skew` reports smaller differences from the clock of a service, per account.
 */
export function clocksDisagree(judged: ClockJudgement, config: Pick<Config, 'destinations'>): Problem {
  const { apart, doubt, isConfirmed } = judged
  const what = apart.length > 0 ? apart.map(differenceText).join(', ') : (doubt ?? '')
  const waits = waitsForClocks(judged, config)
  const waiting = waits.length === 0 ? '' : `; until they agree, ${waits.join(', and ')}`
  return problem('clocks_disagree', {}, doubt !== null || (apart.length > 0 && !isConfirmed), `the clocks disagree: ${what}${waiting}`)
}
