import type { Clock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import type { Service } from '../../base/service.ts'
import type { Config } from '../../config/config.ts'
import { LONGEST_PROBE_FACTOR } from '../../poll/discovery.ts'
import { longestIdWaitMs } from '../../poll/id-intervals.ts'
import { longestIntervals } from '../../poll/intervals.ts'
import { longestLaneLeaseMs } from '../../push/send/lane-claims.ts'
import type { Db } from '../../store/engine/db.ts'
import { capWaits, databaseNowMs } from '../../store/engine/longest-waits.ts'
import { type AllowedWaits, dueTimes } from '../../store/upkeep/due-times.ts'
import { pluralize } from '../output/text.ts'

/** How often the clocks are compared with the steady one. */
const CHECK_MS = 10_000
/** Smaller corrections are normal and lengthen no wait noticeably. */
const SET_BACK_MS = 5_000
/** Pause between steps, which leaves the database to others. */
const PAUSE_MS = 20
const HOUR_MS = 3_600_000

export interface DueTimeHealerOptions {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  readonly config: Pick<Config, 'accounts' | 'destinations' | 'poll' | 'replay'>
}

/**
 * Brings back due times that lie further ahead than they may: at the start, as longer settings left them or a clock that ran ahead and was put
 * right, and within seconds after a clock was set back. Without it, whatever was scheduled meanwhile would wait until the clock reaches that
 * time again. The clock of the database counts: on SQLite it is ours.
 */
export class DueTimeHealer implements Service {
  readonly name = 'due time healer'
  readonly #o: DueTimeHealerOptions
  readonly #allowed: AllowedWaits

  constructor(options: DueTimeHealerOptions) {
    this.#o = options
    this.#allowed = allowedWaits(options.config)
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#o
    let leads = await this.#leads()
    await this.heal(signal)
    while (!signal.aborted) {
      await clock.sleep(CHECK_MS, signal)
      if (signal.aborted) return
      const now = await this.#leads()
      for (const [whose, lead] of now) {
        const backMs = (leads.get(whose) ?? lead) - lead
        if (backMs <= SET_BACK_MS) continue
        log.warn(`the clock of ${whose} was set back by ${Math.round(backMs / 1000)} s; what would wait too long is brought forward`)
        await this.heal(signal)
      }
      leads = now
    }
  }

  /** Looks at all due times. @returns how many rows were changed. */
  async heal(signal: AbortSignal): Promise<number> {
    const { db, clock, log } = this.#o
    const healed = new Map<string, number>()
    const pause = async () => {
      await clock.sleep(PAUSE_MS, signal)
      return !signal.aborted
    }
    for (const times of dueTimes) {
      const rows = signal.aborted ? 0 : await capWaits(db, times, this.#allowed, pause)
      if (rows > 0) healed.set(times.table, rows)
    }
    const total = [...healed.values()].reduce((sum, rows) => sum + rows, 0)
    if (total > 0) {
      const where = [...healed].map(([table, rows]) => `${rows} in ${table}`).join(', ')
      log.info(
        { ...Object.fromEntries(healed) },
        `${pluralize(total, 'row')} lay further in the future than they may and were brought forward: ${where}`,
      )
    }
    return total
  }

  /** How far the clock of the database and ours are ahead of the steady one. */
  async #leads(): Promise<ReadonlyMap<string, number>> {
    const { db, clock } = this.#o
    const own = ['this machine', clock.now() - clock.steady()] as const
    return new Map(db.kind === 'sqlite' ? [own] : [own, ['the database server', (await databaseNowMs(db.read)) - clock.steady()]])
  }
}

/** The longest waits that these settings allow. */
export function allowedWaits({ accounts, destinations, poll, replay }: DueTimeHealerOptions['config']): AllowedWaits {
  const account = (name: string) => accounts.find((one) => one.name === name)
  // The longest `every` that a setting may have, for what none names any more.
  const none = 30 * 24 * HOUR_MS
  return {
    reads: longestIntervals({ poll, replay }),
    ids: (read, isFinal) => longestIdWaitMs({ poll, replay }, read, isFinal, Number.POSITIVE_INFINITY),
    probes: (name, failures) => (account(name)?.discovery?.everyMs ?? none) * (failures > 0 ? LONGEST_PROBE_FACTOR : 1),
    extraReads: (name, extra) => account(name)?.extraReads.find((one) => one.name === extra)?.everyMs ?? none,
    // Jitter lengthens a wait by up to a tenth.
    pushMs: Math.max(HOUR_MS, ...destinations.flatMap(({ scheduleMs }) => scheduleMs).map((ms) => ms * 1.1)),
    laneLeaseMs: Math.max(0, ...destinations.map(longestLaneLeaseMs)),
  }
}
