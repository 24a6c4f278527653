import { WakeUp } from '../../base/wakeup.ts'
import type { Db } from '../../store/engine/db.ts'
import { CrowdedError } from '../output/refusals.ts'

/** Limit of concurrently waiting requests per process. */
export const MOST_HELD = 100
/** Polling interval. Changes by another process may send no signal. */
const LOOK_MS = 1_000
/** Minimum pause between two reads. */
const PACE_MS = 100

/** Lets requests wait until the change log grows. */
class LogGrowth {
  readonly #db: Pick<Db, 'signals' | 'clock'>
  #held = 0

  constructor(db: Pick<Db, 'signals' | 'clock'>) {
    this.#db = db
  }

  /** Number of waiting requests. */
  get held(): number {
    return this.#held
  }

  /**
   * Reads immediately and whenever the log grows, until `hasNews` returns true or `ms` have passed. Uses no connection between reads.
   * @param signal aborts when the requester disconnects or the process stops.
   * @returns the first answer with news, or the last answer.
   * @throws CrowdedError if too many requests wait, and errors of `read`.
   */
  async hold<T>(read: () => Promise<T>, hasNews: (answer: T) => boolean, ms: number, signal: AbortSignal): Promise<T> {
    if (this.#held >= MOST_HELD)
      throw new CrowdedError([`${MOST_HELD} requests already wait for changes. Try again later, or without wait`])
    const { signals, clock } = this.#db
    const wakeUp = new WakeUp(clock)
    // Subscribe before reading, so that no change is missed.
    const unsubscribe = signals.subscribe((topic) => topic === 'changes' && wakeUp.notify())
    this.#held++
    try {
      const until = clock.steady() + ms
      for (let answer = await read(), pause = 0; ; answer = await read(), pause = PACE_MS) {
        const left = until - clock.steady()
        if (hasNews(answer) || left <= 0 || signal.aborted) return answer
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

/** @returns the shared instance for the signals of a database. */
export function growthOf({ signals, clock }: Pick<Db, 'signals' | 'clock'>): LogGrowth {
  const known = ofProcess.get(signals) ?? new LogGrowth({ signals, clock })
  ofProcess.set(signals, known)
  return known
}
