import { type ClockJudgement, differenceText } from '../../model/clocks.ts'
import { msFromTime } from '../../model/time.ts'
import { waitsForClocks } from '../clocks/clock-text.ts'
import { retentionWait, waitText } from '../clocks/retention-wait.ts'
import { ofInstallation } from './condition.ts'
import type { Watcher } from './watcher.ts'

/** Watches whether the clocks agree, and whether retention waits for an operator. */
export const clockWatcher: Watcher = {
  names: ['clocks_disagree', 'retention_waits'],
  async check({ q, config, clocks }) {
    const judged = await clocks.judge()
    const wait = await retentionWait(q)
    return [
      ofInstallation('clocks_disagree', levelOf(judged), textOf(judged, waitsForClocks(judged, config))),
      ofInstallation('retention_waits', wait === null ? 'off' : 'on', wait === null ? '' : waitText(wait.reason)),
    ].map((condition, n) => (n === 1 && wait !== null ? { ...condition, sinceMs: msFromTime(wait.since) } : condition))
  },
}

/** Smaller differences from the service are told by `clock_skew`, by account. A record from the future needs nobody while a service agrees. */
function levelOf({ doubt, apart, isConfirmed }: ClockJudgement): 'on' | 'off' {
  return doubt !== null || (apart.length > 0 && !isConfirmed) ? 'on' : 'off'
}

function textOf({ apart, doubt }: ClockJudgement, waits: readonly string[]): string {
  const what = apart.length > 0 ? apart.map(differenceText).join(', ') : (doubt ?? '')
  const waiting = waits.length === 0 ? '' : `; until they agree ${waits.join(', and ')}`
  return `the clocks disagree: ${what}${waiting}; set the wrong one by NTP (\`submission-mirror doctor\` compares them)`
}
