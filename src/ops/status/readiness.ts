import { messageOf } from '../../base/errors.ts'
import type { Db, Tx } from '../../store/engine/db.ts'
import { appendAndRemove, appendNothing, InboxAppender } from '../../store/inbox/append.ts'
import { type ProcessEntry, recordHeartbeat } from '../../store/upkeep/processes.ts'

/** The result of a check is reused for this many ms, so that frequent requests don't cause a write each. */
const CACHE_MS = 1_000
/** Time limit of a check in ms, in case the database hangs. */
const PATIENCE_MS = 2_000

/**
 * Checks whether a delivery could be stored now, with a small write that includes the inbox.
 * Doesn't check the service.
 */
export class Readiness {
  readonly #db: Db
  readonly #entry: ProcessEntry
  readonly #appender: Pick<InboxAppender, 'failedBytes' | 'noteRoom'>
  #draining = false
  /**
   * Error of the previous attempt to write; null after a success. A check that times out returns this error.
   * A locked database reports its own error only after the timeout.
   */
  #lastError: string | null = null
  #last: { readonly at: number; readonly reason: Promise<string | null> } | null = null

  /**
   * @param appender stores this process's deliveries. If the appender failed to store deliveries, a check stores and
   * removes a row of the same size. A full disk may still accept smaller rows.
   */
  constructor(db: Db, entry: ProcessEntry, appender = new InboxAppender(db)) {
    this.#db = db
    this.#entry = entry
    this.#appender = appender
  }

  /** Marks this process as not ready, because it is stopping. */
  drain(): void {
    this.#draining = true
  }

  /** @returns null if this process is ready, else the reason in one line. Never throws. */
  async notReady(): Promise<string | null> {
    return this.#draining ? 'stopping: deliveries are no longer accepted' : await this.storeFault()
  }

  /** @returns null if the last check could write to the database, else the reason. Never throws. */
  async storeFault(): Promise<string | null> {
    const now = this.#db.clock.steady()
    const isKnown = this.#last !== null && now - this.#last.at < CACHE_MS
    // Don't check while stopping, because a check would register this process as alive.
    if (!isKnown && !this.#draining) this.#last = { at: now, reason: this.#look() }
    return (await this.#last?.reason) ?? null
  }

  async #look(): Promise<string | null> {
    const late = Promise.withResolvers<string>()
    const bytes = this.#appender.failedBytes
    const attempt = bytes > 0 ? (tx: Tx) => appendAndRemove(tx, bytes) : appendNothing
    const store = recordHeartbeat(this.#db, this.#entry, attempt).then(
      () => {
        this.#appender.noteRoom(bytes)
        this.#lastError = null
        return null
      },
      (error: unknown) => {
        this.#lastError = messageOf(error)
        return notNow(this.#lastError)
      },
    )
    const cancel = this.#db.clock.after(PATIENCE_MS, () => late.resolve(notNow(this.#lastError ?? 'the store does not answer')))
    try {
      return await Promise.race([store, late.promise])
    } finally {
      cancel()
    }
  }
}

function notNow(reason: string): string {
  return `cannot store a delivery now: ${reason}`
}
