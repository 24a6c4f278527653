import { backoffMs } from '../../base/clock.ts'
import { messageOf, TransientError } from '../../base/errors.ts'
import type { TimeLimit } from '../../base/time-limit.ts'
import type { ServiceParts } from '../../store/engine/db.ts'
import { type StreamResult, settleStreams } from '../../store/outbox/work.ts'

/** Maximum rows per transaction. This limit keeps SQLite transactions under 20 ms. */
export const SETTLED_ROWS = 400
const RETRY_BASE_MS = 100
const RETRY_CAP_MS = 2_000

export interface SettlerOptions extends Pick<ServiceParts, 'db' | 'clock' | 'log'> {
  readonly destination: string
  /** Whether duplicates are harmless. */
  readonly idempotent: boolean
  /** How long results wait for other results, in ms. A commit costs the same for one result or many. */
  readonly gatherMs: () => number
  /** If this signal aborts, failed writes aren't retried. */
  readonly canceled: AbortSignal
}

interface Waiting {
  /** Results to store in one transaction. */
  readonly results: readonly StreamResult[]
  /** End of the lease. After the lease, another worker may send the rows again. */
  readonly until: TimeLimit
  readonly done: () => void
}

/**
 * Stores the results of streams. Combines waiting results in transactions of up to `SETTLED_ROWS` rows, and runs one
 * transaction at a time.
 */
export class Settler {
  readonly #o: SettlerOptions
  readonly #waiting: Waiting[] = []
  #isRunning = false

  constructor(options: SettlerOptions) {
    this.#o = options
  }

  /**
   * Stores results. Resolves when the results are stored or storing has failed. After a failure, the rows are claimed
   * again when their lease ends. If duplicates are harmful, these rows are then uncertain. Results of up to
   * `SETTLED_ROWS` rows are stored in one transaction, all or none.
   */
  async add(results: readonly StreamResult[], until: TimeLimit): Promise<void> {
    const stored = parts(results).map((part) => new Promise<void>((done) => void this.#waiting.push({ results: part, until, done })))
    if (!this.#isRunning) void this.#run()
    await Promise.all(stored)
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    while (this.#waiting.length > 0) {
      const gatherMs = this.#o.gatherMs()
      if (gatherMs > 0 && !this.#isFull()) await new Promise<void>((resolve) => setTimeout(resolve, gatherMs))
      const batch = this.#take()
      await this.#store(batch)
      for (const { done } of batch) done()
    }
    this.#isRunning = false
  }

  #isFull(): boolean {
    return rowsIn(this.#waiting.flatMap(({ results }) => results)) >= SETTLED_ROWS
  }

  #take(): Waiting[] {
    let rows = 0
    const end = this.#waiting.findIndex(({ results }, position) => {
      rows += rowsIn(results)
      return position > 0 && rows > SETTLED_ROWS
    })
    return this.#waiting.splice(0, end === -1 ? this.#waiting.length : end)
  }

  async #store(batch: readonly Waiting[]): Promise<void> {
    const { db, clock, log, destination, idempotent, canceled } = this.#o
    let left = batch
    for (let attempt = 0; left.length > 0; attempt++) {
      try {
        const results = left.flatMap((waiting) => waiting.results)
        const lost = await settleStreams(db, results, { relaxedDurability: idempotent && results.every(isDelivered) })
        for (const { stream } of lost) {
          log.warn(
            { destination, account: stream.account, stream: stream.stream },
            `the lease of stream ${stream.stream} of destination ${destination} ended before its result was stored; its changes are sent again`,
          )
        }
        return
      } catch (error) {
        // Storing is retried, because the rows were already sent. Without stored results, the rows would be sent again.
        const again = error instanceof TransientError && !canceled.aborted
        left = again ? left.filter(({ until }) => until.leftMs() > 0) : []
        if (attempt === 0 || left.length === 0) {
          const lost = idempotent ? 'these changes are sent again' : 'these changes have an unknown outcome now'
          const next = left.length > 0 ? 'storing is retried' : lost
          log.error({ destination, err: error }, `results of destination ${destination} could not be stored (${messageOf(error)}); ${next}`)
        }
        if (left.length > 0) await clock.sleep(backoffMs(clock, attempt, RETRY_BASE_MS, RETRY_CAP_MS), canceled)
      }
    }
  }
}

/** Splits results into parts of up to `SETTLED_ROWS` rows. A stream is never split. */
function parts(results: readonly StreamResult[]): StreamResult[][] {
  const made: StreamResult[][] = []
  let room = 0
  for (const result of results) {
    const part = made.at(-1)
    room -= result.rows.length
    if (part !== undefined && room >= 0) part.push(result)
    else {
      made.push([result])
      room = SETTLED_ROWS - result.rows.length
    }
  }
  return made
}

function rowsIn(results: readonly StreamResult[]): number {
  return results.reduce((rows, result) => rows + result.rows.length, 0)
}

/**
 * @returns whether the result only reports deliveries without new ids at the target. If duplicates are harmless, such a
 * result may be lost: the rows are sent again, in order and with the same message ids.
 */
function isDelivered({ rows, next }: StreamResult): boolean {
  return next.type === 'due' && rows.every(({ state, remoteId }) => state === 'delivered' && remoteId === null)
}
