import type { Service } from '../base/service.ts'
import { type OptionalRead, optionalReads, type ReadKind } from '../model/reads.ts'
import type { ServiceParts } from '../store/engine/db.ts'
import {
  bringBackReads,
  countSucceeding,
  listReadsOff,
  putOffReads,
  readsOffNow,
  setReadsOffBySettings,
  switchReadOff,
  switchReadOn,
  wasEverRead,
} from '../store/reads/reads-off.ts'

/** If one kind of read is refused for this many submissions, without a success, this kind is switched off. */
const SEVERAL = 3
const RETRY_MS = 86_400_000
const TICK_MS = 1_000
const STEP = 300
const PAUSE_MS = 20

export interface ReadSwitchesOptions extends Pick<ServiceParts, 'db' | 'clock' | 'log'> {
  readonly account: string
  /** Reads that are enabled in the settings. */
  readonly wanted: readonly string[]
}

/**
 * Decides which reads of an account are switched off:
 * - reads that the settings omit
 * - reads that the service refuses (403 or 404) for several submissions, although the requirements reads of these
 *   submissions succeed. A refused read is retried daily.
 */
export class ReadSwitches implements Service {
  readonly name: string
  readonly #o: ReadSwitchesOptions
  readonly #unwanted: readonly OptionalRead[]
  #off: ReadonlySet<OptionalRead>
  /** Reads that the service refused, including reads that are now retried. */
  #refused = new Set<OptionalRead>()
  /** Reads that were switched on again and must be requested soon. */
  readonly #isAgain = new Set<OptionalRead>()
  /** For each read: the submissions for which the service refused the read. A success of the read clears them. */
  readonly #declined = new Map<OptionalRead, Set<string>>()
  /**
   * `#storing`: number of changes that are being stored now. `#stored`: number of changes stored so far. If a change is
   * stored while rows are loaded, the loaded rows may be outdated.
   */
  #storing = 0
  #stored = 0

  constructor(options: ReadSwitchesOptions) {
    this.#o = options
    this.name = `read switches of ${options.account}`
    this.#unwanted = optionalReads.filter((read) => !options.wanted.includes(read))
    this.#off = new Set(this.#unwanted)
  }

  /** Records a success. If the read was refused before, switches it on again. */
  async noteRead(read: OptionalRead): Promise<void> {
    const { db, account, log } = this.#o
    this.#declined.delete(read)
    if (!this.#refused.has(read)) return
    this.#refused.delete(read)
    if (!(await this.#store(() => switchReadOn(db, account, read)))) return
    this.#isAgain.add(read)
    log.info({ account, read }, `the service offers the read ${read} to account ${account} again`)
  }

  /**
   * Records a refusal (403 or 404). Ignores refusals that arrive after the read was switched off, because these
   * refusals would postpone the next retry.
   * @param wasRead true if this read ever succeeded for the submission or id. If false, the record may not exist
   * yet. Then the refusal is ignored if the read ever succeeded for another record.
   */
  async noteDeclined(read: OptionalRead, submissionId: string, wasRead: boolean): Promise<void> {
    const { db, account, log } = this.#o
    if ((!wasRead && (await wasEverRead(db.read, account, read))) || this.#off.has(read)) return
    const declined = this.#declined.get(read) ?? new Set()
    this.#declined.set(read, declined.add(submissionId))
    if (declined.size < SEVERAL) return
    this.#declined.delete(read)
    if ((await countSucceeding(db.read, account, [...declined])) < SEVERAL || this.#off.has(read)) return
    this.#declined.delete(read)
    this.#off = new Set([...this.#off, read])
    this.#refused.add(read)
    const reason = `the service rejects it (403 or 404) for ${SEVERAL} submissions whose other reads succeed`
    if (await this.#store(() => switchReadOff(db, account, read, reason, RETRY_MS)))
      log.warn(
        { account, read },
        `the service rejects the read ${read} of account ${account} (403 or 404) for several submissions whose other reads succeed; the read is disabled and retried daily`,
      )
  }

  get off(): readonly ReadKind[] {
    return [...this.#off]
  }

  async run(signal: AbortSignal): Promise<void> {
    const { db, account, clock } = this.#o
    for (const read of await setReadsOffBySettings(db, account, this.#unwanted)) await this.#bringBack(read, signal)
    while (!signal.aborted) {
      await this.#lookUp()
      for (const read of [...this.#isAgain]) {
        this.#isAgain.delete(read)
        await this.#bringBack(read, signal)
      }
      for (const read of this.#off) await this.#putOff(read, signal)
      await clock.sleep(TICK_MS, signal)
    }
  }

  async #store(change: () => Promise<boolean>): Promise<boolean> {
    this.#storing += 1
    try {
      return await change()
    } finally {
      this.#storing -= 1
      this.#stored += 1
    }
  }

  /**
   * Loads the switches, including changes of other processes. If this process stores a change during the load, ignores
   * the loaded rows.
   */
  async #lookUp(): Promise<void> {
    const { db, account } = this.#o
    const before = this.#stored
    const stored = await listReadsOff(db.read, account)
    const now = stored.length === 0 ? [] : await readsOffNow(db.read, account)
    if (this.#storing > 0 || this.#stored !== before) return
    this.#refused = new Set(stored.filter(({ cause }) => cause === 'service').map(({ read }) => read))
    this.#off = new Set([...this.#unwanted, ...now])
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
