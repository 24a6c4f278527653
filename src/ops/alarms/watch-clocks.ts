import type { Config } from '../../config/config.ts'
import { type ClockJudgement, differenceText } from '../../model/clocks.ts'
import { msFromTime } from '../../model/time.ts'
import type { Query } from '../../store/engine/db.ts'
import { listProcesses } from '../../store/upkeep/processes.ts'
import { lastUpkeep } from '../../store/upkeep/upkeep.ts'
import { waitsForClocks } from '../clocks/clock-text.ts'
import { retentionWait, waitText } from '../clocks/retention-wait.ts'
import { ago } from '../output/text.ts'
import { type Condition, ofInstallation } from './condition.ts'
import type { Watcher } from './watcher.ts'

/** Retention runs every night: two runs were missed. */
const LATE_MS = 49 * 3_600_000

/** Watches whether the clocks agree, and whether retention runs, or waits for an operator. */
export const clockWatcher: Watcher = {
  names: ['clocks_disagree', 'retention_waits', 'retention_late'],
  async check({ q, config, clocks, nowMs }) {
    return [clocksDisagree(await clocks.judge(), config), ...(await retentionConditions(q, nowMs))]
  },
}

/**
 * Whether the clocks disagree. Smaller differences from the service are told by `clock_skew`, by account. A record from the future needs
 * nobody while a service agrees.
 */
export function clocksDisagree(judged: ClockJudgement, config: Pick<Config, 'destinations'>): Condition {
  const { apart, doubt, isConfirmed } = judged
  const what = apart.length > 0 ? apart.map(differenceText).join(', ') : (doubt ?? '')
  const waits = waitsForClocks(judged, config)
  const waiting = waits.length === 0 ? '' : `; until they agree ${waits.join(', and ')}`
  return ofInstallation('clocks_disagree', doubt !== null || (apart.length > 0 && !isConfirmed), `the clocks disagree: ${what}${waiting}`)
}

/** Whether retention waits for an operator, and whether it has not come to its end though a process runs that would do it. */
export async function retentionConditions(q: Query, nowMs: number): Promise<Condition[]> {
  const wait = await retentionWait(q)
  const last = await lastUpkeep(q, 'retention')
  const ran = last?.ended_at ?? last?.began_at ?? null
  const isLate =
    wait === null &&
    ran !== null &&
    nowMs - msFromTime(ran) > LATE_MS &&
    (await listProcesses(q)).some(({ role }) => role !== 'sync' && role !== 'reconcile')
  const text = `retention has not ended for ${ago(ran, nowMs)}, so the database grows`
  return [
    ofInstallation('retention_waits', wait !== null, wait === null ? '' : waitText(wait.reason), wait ? msFromTime(wait.since) : undefined),
    ofInstallation('retention_late', isLate, text, ran === null ? undefined : msFromTime(ran)),
  ]
}
