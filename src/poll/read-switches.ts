import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Service } from '../base/service.ts'
import { type OptionalRead, optionalReads, type ReadKind } from '../model/reads.ts'
import type { Db } from '../store/engine/db.ts'
import { bringBackReads, putOffReads, readsOffNow, setReadsOffBySettings } from '../store/reads/reads-off.ts'

/** Pause between two looks at what is off and due. */
const TICK_MS = 1_000
/** Rows in one transaction, and the pause that leaves the database to others. */
const STEP = 300
const PAUSE_MS = 20

export interface ReadSwitchesOptions {
  readonly account: string
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  /** Reads that the settings list. */
  readonly wanted: readonly string[]
}

/** Knows which reads of an account are off, and keeps them from coming due. */
export class ReadSwitches implements Service {
  readonly name: string
  readonly #o: ReadSwitchesOptions
  readonly #unwanted: readonly OptionalRead[]
  #off: ReadonlySet<OptionalRead>

  constructor(options: ReadSwitchesOptions) {
    this.#o = options
    this.name = `read switches of ${options.account}`
    this.#unwanted = optionalReads.filter((read) => !options.wanted.includes(read))
    this.#off = new Set(this.#unwanted)
  }

  /** The reads that must not be made now. */
  get off(): readonly ReadKind[] {
    return [...this.#off]
  }

  async run(signal: AbortSignal): Promise<void> {
    const { db, account, clock } = this.#o
    for (const read of await setReadsOffBySettings(db, account, this.#unwanted)) await this.#bringBack(read, signal)
    while (!signal.aborted) {
      this.#off = new Set([...this.#unwanted, ...(await readsOffNow(db.read, account))])
      for (const read of this.#off) await this.#putOff(read, signal)
      await clock.sleep(TICK_MS, signal)
    }
  }

  async #putOff(read: OptionalRead, signal: AbortSignal): Promise<void> {
    const { db, account, clock } = this.#o
    while (!signal.aborted && (await putOffReads(db, account, read, STEP)) === STEP) await clock.sleep(PAUSE_MS, signal)
  }

  async #bringBack(read: OptionalRead, signal: AbortSignal): Promise<void> {
    const { db, account, clock } = this.#o
    for (let after: string | null = ''; after !== null && !signal.aborted; await clock.sleep(PAUSE_MS, signal))
      after = await bringBackReads(db, account, read, after, STEP)
    db.signals.notify('reads')
  }
}
