import type { Clock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import { repeat, type Service } from '../../base/service.ts'
import type { Config } from '../../config/config.ts'
import { msFromTime } from '../../model/time.ts'
import { lastSlot } from '../../reconcile/run/schedule.ts'
import type { Db } from '../../store/engine/db.ts'
import { isUpkeepDone, runUpkeep, setUpkeepWait, type UpkeepSlot } from '../../store/upkeep/upkeep.ts'
import { retentionWaits } from '../alarms/watch-upkeep.ts'
import type { ClockJudge } from '../clocks/clock-watch.ts'
import { planRun, planText } from './doubts.ts'
import { removeExpired, summaryOf } from './remove-expired.ts'

export interface RetentionOptions {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  readonly config: Pick<Config, 'retention' | 'destinations' | 'cronTimezone'>
  readonly clocks: ClockJudge
}

export const TASK = 'retention'
/** Every night at 01:30. */
const CRON = '30 1 * * *'
/** Delay in ms after the start, so that other work runs first. */
const AFTER_START_MS = 3_000
/** Interval in ms of checking for a due run, or for a run that another process left unfinished. */
const LOOK_MS = 300_000
/** Lease of a run in ms. Each step renews the lease. */
const LEASE_MS = 120_000

/**
 * Every night, removes what is older than the settings allow.
 * If a night was missed or the settings changed, the run begins soon after the program starts.
 * One process performs the run. If that process dies, another process continues the run.
 */
export class Retention implements Service {
  readonly name = 'retention'
  readonly #o: RetentionOptions
  /** The last logged reason to wait. The same reason is not logged twice in a row. */
  #waitsFor: string | null = null

  constructor(options: RetentionOptions) {
    this.#o = options
  }

  async run(signal: AbortSignal): Promise<void> {
    await repeat(this.#o.clock, signal, AFTER_START_MS, async () => {
      await this.runIfDue(signal)
      return LOOK_MS
    })
  }

  /** Performs the due run. Does nothing if the run is done or must wait, or if another process performs the run. */
  async runIfDue(signal: AbortSignal): Promise<'done' | 'held' | 'stopped' | 'waits'> {
    const { db, clock, log, config } = this.#o
    const due = dueRun(clock.now(), config)
    if (await isUpkeepDone(db, TASK, due)) return 'done'
    const plan = await planRun({ db, clock, config }, due, this.#o.clocks)
    if (plan.waitsFor !== this.#waitsFor && plan.waitsFor !== null) log.warn(`${retentionWaits(plan.waitsFor).text} (${planText(plan)})`)
    this.#waitsFor = plan.waitsFor
    await setUpkeepWait(db, TASK, plan.waitsFor)
    if (plan.waitsFor !== null) return 'waits'
    const outcome = await runUpkeep(db, TASK, due, LEASE_MS, async (lease) => {
      const result = await removeExpired({ db, clock, config }, lease, signal)
      if (signal.aborted) return null
      const note = summaryOf(result)
      log.info({ ...result }, `retention: ${note}`)
      return note
    })
    return outcome === 'ran' ? 'done' : outcome
  }
}

/** @returns the retention run that is due at `nowMs`. */
export function dueRun(
  nowMs: number,
  { retention: { days, changesDays }, cronTimezone }: Pick<Config, 'retention' | 'cronTimezone'>,
): UpkeepSlot {
  return { slot: slotAt(nowMs, cronTimezone), settings: `${days} ${changesDays}` }
}

/**
 * @returns the day of the last due run as `YYYY-MM-DD`.
 * A day begins at 01:30 in `timeZone`, even if a clock change skips that time.
 */
export function slotAt(nowMs: number, timeZone: string): string {
  const format = new Intl.DateTimeFormat('en-CA', { timeZone, year: 'numeric', month: '2-digit', day: '2-digit' })
  return format.format(msFromTime(lastSlot({ cron: CRON, timeZone }, nowMs)))
}
