import type { ClockJudgement } from '../../model/clocks.ts'
import { msFromTime, timeFromMs } from '../../model/time.ts'
import type { Query } from '../../store/engine/db.ts'
import { databaseNowMs } from '../../store/engine/sql.ts'
import { type RunSize, type RunTable, sizeOfRun } from '../../store/upkeep/run-size.ts'
import { lastUpkeep, slotText, type UpkeepSlot } from '../../store/upkeep/upkeep.ts'
import type { ClockJudge } from '../clocks/clock-watch.ts'
import { pluralize } from '../output/text.ts'
import type { RetentionParts } from './remove-expired.ts'

const DAY_MS = 86_400_000
/**
 * A run that began at most this many ms ago is recent.
 * Rows that expired since a recent run don't count for the limit `RETENTION_MAX_SHARE` of the next run.
 */
const USUAL_ADVANCE_MS = 2 * DAY_MS
/**
 * A run that would remove more than `RETENTION_MAX_SHARE` waits.
 * After this many ms, the run starts automatically if a service confirms the clock.
 */
const LONGEST_WAIT_MS = 7 * DAY_MS

/** What a run would remove. `waitsFor` is the reason why the run waits; null if it does not wait. */
export interface RunPlan {
  readonly due: UpkeepSlot
  readonly deliveries: RunSize
  readonly changes: RunSize
  readonly waitsFor: string | null
}

/**
 * Plans a run of retention.
 * The run waits if the clock is in doubt, or if the run would remove more than the limit `RETENTION_MAX_SHARE`.
 * Rows that expired since a recent run with the same settings don't count for the limit.
 * Otherwise, the rows of a single day could exceed the limit of a small mirror every night.
 */
export async function planRun({ db, clock, config }: RetentionParts, due: UpkeepSlot, clocks: ClockJudge): Promise<RunPlan> {
  const last = await lastUpkeep(db.read, 'retention')
  const nowMs = clock.now()
  const destinations = config.destinations.map(({ name }) => name)
  const size = async (name: RunTable, days: number | null, atMs: number) =>
    days === null ? { rows: 0, of: 0 } : await sizeOfRun(db.read, name, timeFromMs(atMs - days * DAY_MS), destinations)
  const sizes = async (atMs: number) => ({
    deliveries: await size('deliveries', config.retention.days, atMs),
    changes: await size('changes', config.retention.changesDays, atMs),
  })
  const whole = await sizes(nowMs)
  const isBegun = last?.slot === due.slot && last.settings === due.settings && last.began_at !== null && last.ended_at === null
  const isConfirmed = last?.confirmed === slotText(due)
  if (isConfirmed) return { due, ...whole, waitsFor: null }
  const judged = await clocks.judge()
  if (!judged.isTrusted) return { due, ...whole, waitsFor: `the clocks disagree (${judged.doubt})` }
  const lastMs = last?.began_at && last.settings === due.settings ? msFromTime(last.began_at) : null
  const isUsual = lastMs !== null && nowMs >= lastMs && nowMs - lastMs <= USUAL_ADVANCE_MS
  const counted = isUsual ? await sizes(lastMs) : whole
  const large = isBegun ? null : largeText(counted, config.retention.maxShare)
  const isOver = large !== null && (await hasWaitedLong(db.read, judged))
  return { due, ...whole, waitsFor: isOver ? null : large }
}

async function hasWaitedLong(q: Query, { isConfirmed }: ClockJudgement): Promise<boolean> {
  const since = (await lastUpkeep(q, 'retention'))?.waits_since ?? null
  return isConfirmed && since !== null && (await databaseNowMs(q)) - msFromTime(since) >= LONGEST_WAIT_MS
}

function largeText(sizes: Pick<RunPlan, 'deliveries' | 'changes'>, maxShare: number): string | null {
  const parts = [shareText('deliveries', sizes.deliveries, maxShare), shareText('changes', sizes.changes, maxShare)].filter(
    (part) => part !== null,
  )
  return parts.length === 0
    ? null
    : `it would remove ${parts.join(' and ')} in one run, more than RETENTION_MAX_SHARE (${maxShare} %) allows`
}

function shareText(what: string, { rows, of }: RunSize, maxShare: number): string | null {
  return rows * 100 > of * maxShare ? `${Math.round((rows * 100) / of)} % of the ${what}` : null
}

export function planText({ deliveries, changes }: RunPlan): string {
  return (
    `a run would remove about ${pluralize(changes.rows, 'change')} of ${changes.of}, and body and headers of about ` +
    `${pluralize(deliveries.rows, 'delivery', 'deliveries')} of ${deliveries.of}`
  )
}
