import type { Clock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import type { Service } from '../../base/service.ts'
import type { Config } from '../../config/config.ts'
import { LONGEST_PROBE_FACTOR } from '../../poll/discovery.ts'
import { maxIntervals } from '../../poll/due-times.ts'
import { longestLaneLeaseMs } from '../../push/send/lane-claims.ts'
import type { Db } from '../../store/engine/db.ts'
import { type DueTimes, dueTimes, type LongestWaits } from '../../store/upkeep/due-times.ts'
import { databaseNowMs, HEAL_START, type HealPosition, healStep, isAnyReadTooFar } from '../../store/upkeep/heal-due-times.ts'
import { pluralize } from '../output/text.ts'

/** How often the clock of the database is compared with the steady one, and how often all due times are looked at. */
const CHECK_MS = 10_000
const CHECKS_PER_LOOK = 6
/** Smaller corrections are normal and lengthen no wait noticeably. */
const SET_BACK_MS = 5_000
/** Pause between steps, which leaves the database to others. */
const PAUSE_MS = 20
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

export interface DueTimeHealerOptions {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  readonly config: Pick<Config, 'accounts' | 'destinations' | 'poll' | 'replay'>
}

/**
 * Brings back due times that lie further ahead than they may, as a clock leaves them that ran ahead and was put right: at the start, each
 * minute, and within seconds after the clock of the database was set back. Without it, whatever was scheduled meanwhile would wait until
 * the clock reaches that time again. The clock of the database counts: on SQLite it is ours.
 */
export class DueTimeHealer implements Service {
  readonly name = 'due time healer'
  readonly #o: DueTimeHealerOptions
  readonly #waits: LongestWaits

  constructor(options: DueTimeHealerOptions) {
    this.#o = options
    this.#waits = longestWaits(options.config)
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, log, db } = this.#o
    let lead = await this.#lead()
    await this.heal(true, signal)
    for (let checks = 1; !signal.aborted; checks++) {
      await clock.sleep(CHECK_MS, signal)
      if (signal.aborted) return
      const now = await this.#lead()
      const backMs = lead - now
      lead = now
      const wasSetBack = backMs > SET_BACK_MS
      const whose = db.kind === 'sqlite' ? 'this machine' : 'the database server'
      if (wasSetBack)
        log.warn(`the clock of ${whose} was set back by ${Math.round(backMs / 1000)} s; what would wait too long is brought forward`)
      if (wasSetBack || checks % CHECKS_PER_LOOK === 0) await this.heal(wasSetBack, signal)
    }
  }

  /** Looks at all due times. @param whole the large tables too, whose rows have no index by time. @returns how many rows were changed. */
  async heal(whole: boolean, signal: AbortSignal): Promise<number> {
    const { db, config, log } = this.#o
    const longestReadMs = Math.max(DAY_MS, ...Object.values(config.poll))
    const withLarge = whole || (await isAnyReadTooFar(db.read, this.#waits.accounts, longestReadMs))
    const healed = new Map<string, number>()
    for (const due of dueTimes) {
      const rows = due.isLarge && !withLarge ? 0 : await this.#healTable(due, signal)
      if (rows > 0) healed.set(due.table, rows)
    }
    const total = [...healed.values()].reduce((sum, rows) => sum + rows, 0)
    if (total > 0) {
      const where = [...healed].map(([table, rows]) => `${rows} in ${table}`).join(', ')
      log.warn(
        { ...Object.fromEntries(healed) },
        `${pluralize(total, 'row')} lay further in the future than they may, as after a clock that ran ahead, and were brought forward: ${where}`,
      )
    }
    return total
  }

  async #healTable(due: DueTimes, signal: AbortSignal): Promise<number> {
    let healed = 0
    for (let position: HealPosition = HEAL_START; position !== null && !signal.aborted; ) {
      const step: Awaited<ReturnType<typeof healStep>> = await healStep(this.#o.db, due, this.#waits, position)
      healed += step.healed
      position = step.next
      // A table of one page, as nearly all are, costs no pause.
      if (position !== null && position.after !== null) await this.#o.clock.sleep(PAUSE_MS, signal)
    }
    return healed
  }

  async #lead(): Promise<number> {
    return (await databaseNowMs(this.#o.db.read)) - this.#o.clock.steady()
  }
}

/** The longest waits that these settings allow. */
export function longestWaits({ accounts, destinations, poll, replay }: DueTimeHealerOptions['config']): LongestWaits {
  const schedules = destinations.flatMap(({ scheduleMs }) => scheduleMs)
  const discovery = accounts.flatMap(({ discovery }) => (discovery === null ? [] : [discovery.everyMs]))
  return {
    accounts: accounts.map(({ name }) => name),
    destinations: destinations.map(({ name }) => name),
    reads: maxIntervals({ poll, replay }),
    // Jitter lengthens a wait by up to a tenth.
    pushMs: Math.max(HOUR_MS, ...schedules.map((ms) => ms * 1.1)),
    laneLeaseMs: Math.max(0, ...destinations.map(longestLaneLeaseMs)),
    probeMs: Math.max(HOUR_MS, ...discovery) * LONGEST_PROBE_FACTOR,
  }
}
