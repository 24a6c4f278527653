import { inApplyTransaction } from '../../apply/apply.ts'
import { type Differences, DryRun } from '../../apply/compare.ts'
import type { Clock } from '../../base/clock.ts'
import type { Observer } from '../../base/observer.ts'
import type { Fact, Place } from '../../model/facts.ts'
import type { ReadKind, StateRead } from '../../model/reads.ts'
import { timeFromMs } from '../../model/time.ts'
import type { Db } from '../../store/engine/db.ts'
import { noteUnreadable, type Unreadable } from '../../store/mirror/evidence.ts'
import { MirrorReader } from '../../store/mirror/reader.ts'
import { derivedFacts } from './comparer.ts'
import { type Finder, type FoundDifference, finding } from './finding.ts'
import type { Recorder } from './recorder.ts'

export interface MenderParts {
  readonly db: Db
  readonly clock: Clock
  readonly observer: Observer
  readonly recorder: Recorder
  readonly dryRun: boolean
}

/** Puts right what differs in one submission, and reports it, in one transaction; or only reports it. */
export class Mender {
  readonly #o: MenderParts
  readonly #place: Place
  readonly #finder: Finder
  /** A dry run goes the same way, in memory. */
  readonly #rehearsal: DryRun
  #left = false
  #mended = false

  constructor(parts: MenderParts, place: Place, finder: Finder) {
    this.#o = parts
    this.#place = place
    this.#finder = finder
    this.#rehearsal = new DryRun(new MirrorReader(parts.db.read, place.account))
  }

  /** Whether something was found that cannot be put right, or could not be checked. */
  get left(): boolean {
    return this.#left
  }

  /** Whether the mirror is no longer as it was, or, in a dry run, would not be. */
  get mended(): boolean {
    return this.#mended
  }

  /** What applying the facts would change now. */
  compare(facts: readonly Fact[]): Promise<Differences> {
    return this.#rehearsal.compare(facts, timeFromMs(this.#o.clock.now()))
  }

  /**
   * Applies facts and reports what that changed.
   * @param state the read of the state that they come of; null: a replay.
   * @returns false when a read of the state came too late: another, sent after it, has been applied (invariant 6).
   */
  async mend(facts: readonly Fact[], state: StateRead | null): Promise<boolean> {
    const { db, observer, clock, recorder, dryRun } = this.#o
    if (!this.#mended) await this.#lookBefore()
    this.#mended = true
    if (dryRun) {
      const differences = await this.#rehearsal.apply(facts, timeFromMs(clock.now()))
      const found = this.#finder.found(differences, state, false)
      await recorder.keepAlone(found)
      this.#finder.reported(differences, found)
      return true
    }
    return await inApplyTransaction(db, observer, 'reconcile-repair', async (transaction) => {
      const applied = await transaction.apply(facts)
      const found = this.#finder.found(applied, state, true)
      await recorder.keep(transaction.tx, found)
      transaction.tx.afterCommit(() => this.#finder.reported(applied, found))
      return applied.stale === 0
    })
  }

  /** What does not follow from the records while they still are as they were found was damaged by itself. */
  async #lookBefore(): Promise<void> {
    this.#finder.before(await this.compare(derivedFacts(this.#place, timeFromMs(this.#o.clock.now()), true)))
  }

  /** Reports what was found and cannot be put right here. */
  async leave(found: readonly FoundDifference[]): Promise<void> {
    if (found.some((one) => !one.standing)) this.#left = true
    await this.#o.recorder.keepAlone(found)
  }

  /** Reports items that could not be read, however long they have been known, and keeps them as evidence; a dry run only reports. */
  async keepUnreadable(read: ReadKind, raws: readonly string[]): Promise<void> {
    if (raws.length === 0) return
    const { account, submissionId } = this.#place
    const { db, clock, recorder, dryRun } = this.#o
    const items = raws.map((raw): Unreadable => ({ account, submission_id: submissionId, read, raw }))
    const [are, they] = items.length === 1 ? ['is', 'it is'] : ['are', 'they are']
    const kept = dryRun ? '' : `; ${they} kept in sync_unreadable`
    const detail = `${items.length} of its items ${are} not what the service's specification says and could not be compared${kept}`
    this.#left = true
    await db.write('reconcile-findings', async (tx) => {
      if (!dryRun) await noteUnreadable(tx, items, timeFromMs(clock.now()))
      await recorder.keep(tx, [finding({ kind: 'unreadable', submissionId, read, detail })])
    })
  }
}
