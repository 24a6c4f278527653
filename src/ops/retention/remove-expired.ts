import type { Clock } from '../../base/clock.ts'
import type { Config } from '../../config/config.ts'
import { timeFromMs } from '../../model/time.ts'
import type { Db } from '../../store/engine/db.ts'
import {
  type RetentionStep,
  removeChanges,
  removeEpisodes,
  removeFindings,
  removePushed,
  removeRejected,
  removeVerifications,
  type StepInput,
  trimInbox,
  trimLeftOver,
} from '../../store/upkeep/retention.ts'
import type { UpkeepLease } from '../../store/upkeep/upkeep.ts'
import { pluralize } from '../output/text.ts'
import { Pace } from './pace.ts'

export interface RetentionParts {
  readonly db: Db
  readonly clock: Clock
  readonly config: Pick<Config, 'retention' | 'destinations'>
}

/** Numbers of rows that one run removed. `deliveries` counts rows that only lost their body and headers. */
export interface RemovedCounts {
  readonly deliveries: number
  readonly rejected: number
  readonly pushed: number
  readonly changes: number
  readonly findings: number
  /** Resolved alarms in the alarm history. */
  readonly alarms: number
}

const DAY_MS = 86_400_000

type Step = (order: StepInput) => Promise<RetentionStep>

/**
 * Removes what is older than the settings allow, in short steps with pauses. Stops early if `signal` aborts.
 * @returns the numbers of removed rows. After an abort, returns the numbers until then.
 * @throws LeaseLostError if another process has the lease.
 */
export async function removeExpired(
  { db, clock, config }: RetentionParts,
  lease: UpkeepLease,
  signal: AbortSignal,
): Promise<RemovedCounts> {
  const { days, changesDays } = config.retention
  const names = config.destinations.map(({ name }) => name)
  const walk = async (keptDays: number | null, step: Step, after = 0): Promise<number> => {
    if (keptDays === null) return 0
    const before = timeFromMs(clock.now() - keptDays * DAY_MS)
    const pace = new Pace(db.kind)
    let removed = 0
    for (let next: number | null = after; next !== null && !signal.aborted; ) {
      const startedAt = performance.now()
      const done: RetentionStep = await step({ lease, before, limit: pace.rows, after: next })
      removed += done.removed
      next = done.next
      pace.record(done.processedMs)
      if (next !== null) await clock.sleep(pace.restMs(performance.now() - startedAt), signal)
    }
    return removed
  }
  const rejected = await walk(days, (order) => removeRejected(db, order))
  const left = await walk(days, (order) => trimLeftOver(db, order))
  const deliveries = left + (await walk(days, (order) => trimInbox(db, order), lease.position))
  const pushed = await walk(days, (order) => removePushed(db, order))
  await walk(days, (order) => removeVerifications(db, order))
  const changes = await walk(changesDays, (order) => removeChanges(db, order, names))
  const findings = await walk(changesDays, (order) => removeFindings(db, order))
  const alarms = await walk(changesDays, (order) => removeEpisodes(db, order))
  return { deliveries, rejected, pushed, changes, findings, alarms }
}

export function summaryOf({ deliveries, rejected, pushed, changes, findings, alarms }: RemovedCounts): string {
  const removed = [
    deliveries > 0 && `body and headers of ${pluralize(deliveries, 'delivery', 'deliveries')}`,
    rejected > 0 && pluralize(rejected, 'rejected delivery', 'rejected deliveries'),
    pushed > 0 && pluralize(pushed, 'push', 'pushes'),
    changes > 0 && pluralize(changes, 'change'),
    findings > 0 && pluralize(findings, 'finding'),
    alarms > 0 && pluralize(alarms, 'past alarm'),
  ].filter((part) => part !== false)
  return `removed ${removed.length === 0 ? 'nothing' : removed.join(', ')}`
}
