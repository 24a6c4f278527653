import cron from 'node-cron'
import type { Clock } from '../../clock.ts'
import type { Config } from '../../config.ts'
import type { Log } from '../../log.ts'
import type { Service } from '../../service.ts'
import type { Db } from '../../store/db.ts'
import { claimUpkeep, endUpkeep } from '../../store/upkeep.ts'
import { takeTurn, toldOf } from './turn.ts'

export interface RetentionOptions {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  readonly config: Pick<Config, 'retention' | 'destinations' | 'cronTimezone'>
}

const TASK = 'retention'
/** Half past one at night. */
const EXPRESSION = '30 1 * * *'
const BEGINS_MS = 5_400_000
/** A start has other things to do first. */
const AFTER_START_MS = 3_000
/** While another process is at it, to see whether it came to the end. */
const HELD_MS = 300_000
/** A bell may be missed, by a machine that sleeps say. */
const LOOK_MS = 6 * 3_600_000
/** Renewed with every step. */
const LEASE_MS = 120_000

/**
 * Removes each night what is older than the settings say; a night that was missed, or whose settings were others, is made up soon after
 * the start. Of several processes
 * one does it, and another goes on when it dies.
 */
export class Retention implements Service {
  readonly name = 'retention'
  readonly #o: RetentionOptions

  constructor(options: RetentionOptions) {
    this.#o = options
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, config } = this.#o
    let bell = new AbortController()
    const task = cron.schedule(EXPRESSION, () => bell.abort(), {
      ...{ timezone: config.cronTimezone, noOverlap: true },
      // A bell that was missed is made up by the next look.
      suppressMissedWarning: true,
    })
    try {
      await clock.sleep(AFTER_START_MS, signal)
      while (!signal.aborted) {
        bell = new AbortController()
        const outcome = await this.turn(signal)
        await clock.sleep(outcome === 'held' ? HELD_MS : LOOK_MS, AbortSignal.any([signal, bell.signal]))
      }
    } finally {
      await task.destroy()
    }
  }

  /** Does the turn of today, unless it is done, or another process is at it. */
  async turn(signal: AbortSignal): Promise<'done' | 'held' | 'stopped'> {
    const { db, clock, log, config } = this.#o
    const { days, changesDays } = config.retention
    const due = { slot: slotAt(clock.now(), config.cronTimezone), settings: `${days} ${changesDays}` }
    const lease = await claimUpkeep(db, TASK, due, LEASE_MS)
    if (lease === 'done' || lease === 'held') return lease
    let note: string | null = null
    try {
      const result = await takeTurn({ db, clock, config }, lease, signal)
      if (signal.aborted) return 'stopped'
      note = toldOf(result)
      log.info({ ...result }, `retention: ${note}`)
      return 'done'
    } finally {
      // Also when it failed: the supervisor begins again soon.
      await endUpkeep(db, lease, note)
    }
  }
}

/** @returns the day whose turn it is: it changes at half past one. */
export function slotAt(nowMs: number, timeZone: string): string {
  const format = new Intl.DateTimeFormat('en-CA', { timeZone, year: 'numeric', month: '2-digit', day: '2-digit' })
  return format.format(nowMs - BEGINS_MS)
}
