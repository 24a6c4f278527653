import { WakeUp } from '../../base/wakeup.ts'
import type { Db } from '../../store/engine/db.ts'
import { CrowdedError } from '../output/refusals.ts'

/** Maximum number of requests that wait at the same time in one process. */
export const MOST_HELD = 100
/** Without a signal, `read` is called again after this many ms. A change by another process may send no signal. */
const LOOK_MS = 1_000
/** Minimum pause in ms between two calls of `read` for one request. */
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
   * Calls `read` immediately. Calls it again when the change log grows, and at least about once a second. Holds no
   * database connection between reads.
   * @param hasNews returns true for an answer that ends the wait.
   * @param ms maximum wait.
   * @param signal aborts when the requester disconnects or the process stops.
   * @returns the last answer of `read`.
   * @throws CrowdedError if `MOST_HELD` requests already wait, and errors of `read`.
   */
  async hold<T>(read: () => Promise<T>, hasNews: (answer: T) => boolean, ms: number, signal: AbortSignal): Promise<T> {
    if (this.#held >= MOST_HELD)
      throw new CrowdedError([`${MOST_HELD} requests already wait for changes. Try again later, or without wait`])
    const { signals, clock } = this.#db
    const wakeUp = new WakeUp(clock)
    // Subscribe before reading. Otherwise, a change between both steps would be missed.
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

/** @returns the `LogGrowth` of a database. All callers in this process share it. */
export function growthOf({ signals, clock }: Pick<Db, 'signals' | 'clock'>): LogGrowth {
  const known = ofProcess.get(signals) ?? new LogGrowth({ signals, clock })
  ofProcess.set(signals, known)
  return known
}
