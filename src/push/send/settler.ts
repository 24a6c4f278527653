import { backoffMs, type Clock } from '../../base/clock.ts'
import { messageOf, TransientError } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import type { Db } from '../../store/engine/db.ts'
import { type LaneResult, settleLanes } from '../../store/outbox/work.ts'

/** Rows settled together, as many as keep a transaction on SQLite under its 20 ms. */
const BATCH_ROWS = 400
const RETRY_BASE_MS = 100
const RETRY_CAP_MS = 2_000

export interface SettlerOptions {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  readonly destination: string
  /** It may get the same message twice. */
  readonly idempotent: boolean
  /** How long lanes that are done wait for others, in milliseconds: a commit costs the same for one and for many. */
  readonly gatherMs: () => number
  /** After it, nothing is tried again. */
  readonly over: AbortSignal
}

interface Waiting {
  readonly result: LaneResult
  /** When its lease ends; what was not written by then is somebody else's. */
  readonly until: number
  readonly done: () => void
}

/** Writes down what became of lanes, all that wait at a moment in one transaction, one transaction at a time. */
export class Settler {
  readonly #o: SettlerOptions
  readonly #waiting: Waiting[] = []
  #running = false

  constructor(options: SettlerOptions) {
    this.#o = options
  }

  /** Resolves when the result is written, or cannot be any more; then its rows are tried again by whoever claims them next. */
  add(result: LaneResult, until: number): Promise<void> {
    return new Promise((done) => {
      this.#waiting.push({ result, until, done })
      if (!this.#running) void this.#run()
    })
  }

  async #run(): Promise<void> {
    this.#running = true
    while (this.#waiting.length > 0) {
      const gatherMs = this.#o.gatherMs()
      if (gatherMs > 0 && !this.#isFull()) await new Promise<void>((resolve) => setTimeout(resolve, gatherMs))
      const batch = this.#take()
      await this.#store(batch)
      for (const { done } of batch) done()
    }
    this.#running = false
  }

  #isFull(): boolean {
    return this.#waiting.reduce((rows, { result }) => rows + result.rows.length, 0) >= BATCH_ROWS
  }

  #take(): Waiting[] {
    let rows = 0
    const taken = this.#waiting.findIndex(({ result }, position) => {
      rows += result.rows.length
      return position > 0 && rows > BATCH_ROWS
    })
    return this.#waiting.splice(0, taken === -1 ? this.#waiting.length : taken)
  }

  async #store(batch: readonly Waiting[]): Promise<void> {
    const { db, clock, log, destination, idempotent, over } = this.#o
    let left = batch
    for (let attempt = 0; left.length > 0; attempt++) {
      try {
        const results = left.map(({ result }) => result)
        const lost = await settleLanes(db, results, { relaxedDurability: idempotent && results.every(isDelivered) })
        for (const { lane } of lost) {
          log.warn(
            { destination, account: lane.account, lane: lane.lane },
            'the lease of a lane ended before its result was written; what was sent is sent again',
          )
        }
        return
      } catch (error) {
        // While the store is away the tries have taken place all the same: to forget them would be to repeat them.
        const again = error instanceof TransientError && !over.aborted
        left = again ? left.filter(({ until }) => until > clock.now()) : []
        if (attempt === 0 || left.length === 0)
          log.error({ destination, err: error }, `what was sent could not be written down: ${messageOf(error)}`)
        if (left.length > 0) await clock.sleep(backoffMs(clock, attempt, RETRY_BASE_MS, RETRY_CAP_MS), over)
      }
    }
  }
}

/** Whether all that is to be written down is that it has arrived: forgotten, it is sent again, in its order, and under its id. */
function isDelivered({ rows, next }: LaneResult): boolean {
  return next.type === 'due' && rows.every(({ state, remoteId }) => state === 'delivered' && remoteId === null)
}
