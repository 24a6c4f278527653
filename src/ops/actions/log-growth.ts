import { WakeUp } from '../../base/wakeup.ts'
import type { Db } from '../../store/engine/db.ts'
import { CrowdedError } from '../output/refusals.ts'

/** Answers that one process holds at the same time. */
export const MOST_HELD = 100
/** Without a signal each looks this often: a command beside the process gives none. */
const LOOK_MS = 1_000
/** Looks that found nothing are at least so far apart, however much happens. */
const PACE_MS = 100

/** Holds answers of one process until the change log has grown. */
class LogGrowth {
  readonly #db: Pick<Db, 'signals' | 'clock'>
  #held = 0

  constructor(db: Pick<Db, 'signals' | 'clock'>) {
    this.#db = db
  }

  /** Answers that are held now. */
  get held(): number {
    return this.#held
  }

  /**
   * Reads at once, and again as the log grows, until there is something to tell. Between reads it holds nothing of the database.
   * @param ms how long at most. @param signal aborts when nobody waits any more, or the process stops.
   * @returns the first answer that tells something, or the last one.
   * @throws CrowdedError when too many wait already, and whatever `read` throws.
   */
  async hold<T>(read: () => Promise<T>, isTelling: (answer: T) => boolean, ms: number, signal: AbortSignal): Promise<T> {
    if (this.#held >= MOST_HELD) throw new CrowdedError([`${MOST_HELD} wait for changes already; ask again without wait, or later`])
    const { signals, clock } = this.#db
    const wakeUp = new WakeUp(clock)
    // Before the first read: what changes from then on is told.
    const unsubscribe = signals.subscribe((topic) => topic === 'changes' && wakeUp.notify())
    this.#held++
    try {
      const until = clock.steady() + ms
      for (let answer = await read(), pause = 0; ; answer = await read(), pause = PACE_MS) {
        const left = until - clock.steady()
        if (isTelling(answer) || left <= 0 || signal.aborted) return answer
        await clock.sleep(Math.min(pause, left), signal)
        await wakeUp.wait(Math.min(LOOK_MS, until - clock.steady()), signal)
        if (signal.aborted) return answer
      }
    } finally {
      this.#held--
      unsubscribe()
    }
  }
}

const ofProcess = new WeakMap<object, LogGrowth>()

/** The one that holds for all who share the signals of a database. */
export function growthOf({ signals, clock }: Pick<Db, 'signals' | 'clock'>): LogGrowth {
  const known = ofProcess.get(signals) ?? new LogGrowth({ signals, clock })
  ofProcess.set(signals, known)
  return known
}
