import { messageOf } from '../../base/errors.ts'
import type { Db } from '../../store/engine/db.ts'
import { appendAndRemove, appendNothing } from '../../store/inbox/append.ts'
import { type ProcessEntry, recordHeartbeat } from '../../store/upkeep/processes.ts'

/** Many who ask at once, or in a row, cost one look at the store. */
const CACHE_MS = 1_000
/** Who asks is answered in time, even when the store does not answer. */
const PATIENCE_MS = 2_000

/**
 * Tells whether a delivery could be stored now, by a small write that is really committed and that the inbox takes part in. What the
 * service does has no part in it.
 */
export class Readiness {
  readonly #db: Db
  readonly #entry: ProcessEntry
  readonly #appender: { readonly failing: boolean }
  #draining = false
  /** What the store said last of itself: one that is locked says so only after a look has been given up. */
  #said: string | null = null
  #last: { readonly at: number; readonly reason: Promise<string | null> } | null = null

  /** @param appender stores the deliveries of this process: when that failed the last time, a row is really stored and taken away again. */
  constructor(db: Db, entry: ProcessEntry, appender: { readonly failing: boolean } = { failing: false }) {
    this.#db = db
    this.#entry = entry
    this.#appender = appender
  }

  /** From now on the process is not ready: it is stopping. */
  drain(): void {
    this.#draining = true
  }

  /** @returns null when it is ready, else why not, in one line. It never throws. */
  async notReady(): Promise<string | null> {
    return this.#draining ? 'stopping: no more deliveries are taken' : await this.storeFault()
  }

  /** @returns null when the store could be written the last time that was tried, else why not. It never throws. */
  async storeFault(): Promise<string | null> {
    const now = this.#db.clock.steady()
    const isKnown = this.#last !== null && now - this.#last.at < CACHE_MS
    // One look more would put a stopping process, which has said good-bye, back onto the list of the living.
    if (!isKnown && !this.#draining) this.#last = { at: now, reason: this.#look() }
    return (await this.#last?.reason) ?? null
  }

  async #look(): Promise<string | null> {
    const answered = new AbortController()
    const store = recordHeartbeat(this.#db, this.#entry, this.#appender.failing ? appendAndRemove : appendNothing).then(
      () => {
        this.#said = null
        return null
      },
      (error: unknown) => {
        this.#said = messageOf(error)
        return notNow(this.#said)
      },
    )
    const patience = this.#db.clock.sleep(PATIENCE_MS, answered.signal).then(() => notNow(this.#said ?? 'the store does not answer'))
    try {
      return await Promise.race([store, patience])
    } finally {
      answered.abort()
    }
  }
}

function notNow(reason: string): string {
  return `cannot store a delivery now: ${reason}`
}
