import { messageOf, TransientError } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import type { Observer } from '../base/observer.ts'
import type { NewDelivery } from '../store/inbox/append.ts'
import type { Deadline } from './deadline.ts'

/**
 * Stores deliveries in the inbox. For each delivery, `append` returns null if the delivery is stored, otherwise the
 * error (see `InboxAppender`).
 */
export interface Appender {
  /** Whether a commit blocks the event loop, as on SQLite. No request is read during such a commit. */
  readonly blocking?: boolean
  append(deliveries: readonly NewDelivery[]): Promise<readonly (Error | null)[]>
}

interface GroupCommitOptions {
  readonly appender: Appender
  readonly log: Log
  readonly observer: Observer
  /** Maximum total size of waiting bodies, in bytes. If a delivery would exceed this size, the answer is 503. */
  readonly waitingBytes: number
}

const WAITING_ROWS = 4_096
/** Limits of one transaction. A delivery with a body above `BATCH_BYTES` gets its own transaction. */
const BATCH_ROWS = 512
const BATCH_BYTES = 8 << 20
/**
 * Maximum event loop turns to wait for more deliveries before storing a batch. `blocking` applies if
 * `Appender.blocking` is true, `other` otherwise.
 */
const MAX_TURNS = { blocking: 8, other: 1 } as const

interface Waiting {
  readonly delivery: NewDelivery
  readonly deadline: Deadline
  readonly resolve: (failure: Error | null) => void
}

/**
 * Stores all waiting deliveries together, one transaction at a time. A disk commit costs the same for one delivery as
 * for many.
 */
export class GroupCommit {
  readonly #o: GroupCommitOptions
  #waiting: Waiting[] = []
  #waitingBytes = 0
  #running = false
  #notStored = 0

  constructor(options: GroupCommitOptions) {
    this.#o = options
  }

  /**
   * Stores a delivery. If the delivery isn't stored at the deadline, resolves with an error. A transaction that has
   * already begun may still store the delivery. The promise never rejects.
   * @returns null if the delivery is durably stored; otherwise the error.
   */
  add(delivery: NewDelivery, deadline: Deadline): Promise<Error | null> {
    if (deadline.expired) return Promise.resolve(tooLate())
    if (this.#waiting.length >= WAITING_ROWS || this.#waitingBytes + delivery.body.length > this.#o.waitingBytes) {
      return Promise.resolve(new TransientError('too many deliveries are waiting to be stored'))
    }
    return new Promise((resolve) => {
      deadline.onExpiry(() => resolve(tooLate()))
      this.#waiting.push({ delivery, deadline, resolve })
      this.#waitingBytes += delivery.body.length
      if (!this.#running) void this.#run()
    })
  }

  async #run(): Promise<void> {
    this.#running = true
    while (this.#waiting.length > 0) {
      await this.#gather()
      const batch = this.#take()
      if (batch.length > 0) await this.#store(batch)
    }
    this.#running = false
  }

  /**
   * Waits until the event loop has read requests that already arrived, which takes a few hundred microseconds.
   * SQLite then stores their deliveries in one commit. On Postgres, waits for one turn only, because requests are also
   * read during a commit.
   */
  async #gather(): Promise<void> {
    const maxTurns = this.#o.appender.blocking ? MAX_TURNS.blocking : MAX_TURNS.other
    let before = -1
    for (let turns = 0; turns < maxTurns; turns++) {
      const { length } = this.#waiting
      if (length === before || length >= BATCH_ROWS) return
      before = length
      await new Promise<void>((resolve) => setImmediate(resolve))
    }
  }

  #take(): Waiting[] {
    const batch: Waiting[] = []
    let bytes = 0
    let taken = 0
    for (const waiting of this.#waiting) {
      const { length } = waiting.delivery.body
      if (batch.length >= BATCH_ROWS || (batch.length > 0 && bytes + length > BATCH_BYTES)) break
      taken += 1
      this.#waitingBytes -= length
      // Skips this delivery, because its sender already got a 503.
      if (waiting.deadline.expired) continue
      bytes += length
      batch.push(waiting)
    }
    this.#waiting = this.#waiting.slice(taken)
    return batch
  }

  async #store(batch: readonly Waiting[]): Promise<void> {
    const { appender, observer } = this.#o
    const startedAt = performance.now()
    let outcomes: readonly (Error | null)[]
    try {
      outcomes = await appender.append(batch.map((waiting) => waiting.delivery))
    } catch (error) {
      outcomes = batch.map(() => (error instanceof Error ? error : new Error(String(error))))
    }
    observer.time('inbox_commit_seconds', (performance.now() - startedAt) / 1000)
    observer.set('inbox_append_rows', batch.length)
    for (const [position, waiting] of batch.entries()) {
      const outcome = outcomes[position]
      // If the database reports no outcome, the delivery may not be stored, so it counts as failed.
      waiting.resolve(outcome === undefined ? new TransientError('the database gave no outcome for this delivery') : outcome)
    }
    this.#report(batch, outcomes)
  }

  /**
   * Logs one line when storing begins to fail, and one when storing works again. Logs
   * single failed deliveries separately.
   */
  #report(batch: readonly Waiting[], outcomes: readonly (Error | null)[]): void {
    const { log } = this.#o
    const failures = outcomes.filter((outcome) => outcome !== null)
    const [failure] = failures
    // If all of several deliveries failed, or a single delivery failed with a TransientError, the database is the
    // cause. Otherwise, each failed delivery itself may be the cause.
    if (failure !== undefined && failures.length === batch.length && (batch.length > 1 || failure instanceof TransientError)) {
      if (this.#notStored === 0)
        log.error({ err: failure }, `deliveries cannot be stored now and are answered 503 (${messageOf(failure)}). The sender repeats them`)
      this.#notStored += batch.length
      return
    }
    for (const [position, outcome] of outcomes.entries()) {
      if (outcome === null) continue
      const { account, deliveryId } = (batch[position] as Waiting).delivery
      log.error(
        { account, delivery: deliveryId, err: outcome },
        `delivery ${deliveryId} could not be stored and was answered 503: ${messageOf(outcome)}`,
      )
    }
    if (this.#notStored > 0 && failures.length < batch.length) {
      log.info({ refused: this.#notStored }, `deliveries are stored again; ${this.#notStored} were answered 503`)
      this.#notStored = 0
    }
  }
}

function tooLate(): TransientError {
  return new TransientError('the delivery could not be stored in time')
}
