import type { Clock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import { repeat, type Service } from '../../base/service.ts'
import type { Db } from '../../store/engine/db.ts'
import { clockSetBackMs, moveTimesBack, recordClock } from '../../store/upkeep/set-back.ts'

/**
 * Interval in ms between checks. Each check compares the database's clock with the time recorded at the previous check.
 */
const CHECK_MS = 10_000
/** Corrections of at most this many ms are ignored. Small corrections are normal, and lengthen waits only a little. */
const SET_BACK_MS = 5_000

export interface SetBackWatchParts {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
}

/**
 * If the database's clock was set back, moves due times back by the same amount. Otherwise, work would wait too long.
 * Also detects a clock that was set back before the program started.
 */
export class SetBackWatch implements Service {
  readonly name = 'set-back watch'
  readonly #p: SetBackWatchParts

  constructor(parts: SetBackWatchParts) {
    this.#p = parts
  }

  async run(signal: AbortSignal): Promise<void> {
    await repeat(this.#p.clock, signal, 0, async () => {
      await this.check(signal)
      return CHECK_MS
    })
  }

  async check(signal: AbortSignal): Promise<void> {
    const { db, log } = this.#p
    const backMs = await clockSetBackMs(db)
    if (backMs > SET_BACK_MS) {
      const changed = await moveTimesBack(db, backMs, signal)
      log.warn(changed, `the database's clock was set back by ${Math.round(backMs / 1000)} s; waiting times were moved back with it`)
    }
    if (!signal.aborted) await recordClock(db)
  }
}
