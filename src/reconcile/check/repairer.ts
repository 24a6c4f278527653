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
import { type FindingBuilder, finding, type NewFinding } from './finding.ts'
import type { Recorder } from './recorder.ts'

export interface RepairContext {
  readonly db: Db
  readonly clock: Clock
  readonly observer: Observer
  readonly recorder: Recorder
  readonly dryRun: boolean
}

/** Repairs the differences of one submission and stores the findings in the same transaction. A dry run only stores findings. */
export class Repairer {
  readonly #o: RepairContext
  readonly #place: Place
  readonly #findings: FindingBuilder
  /** Compares, and in a dry run keeps the repaired rows in memory. */
  readonly #dryRun: DryRun
  #isIncomplete = false
  #hasRepaired = false

  constructor(parts: RepairContext, place: Place, findings: FindingBuilder) {
    this.#o = parts
    this.#place = place
    this.#findings = findings
    this.#dryRun = new DryRun(new MirrorReader(parts.db.read, place.account))
  }

  /** Whether something is left that could not be repaired or could not be checked. */
  get isIncomplete(): boolean {
    return this.#isIncomplete
  }

  /** Whether something was repaired, or would have been without the dry run. */
  get hasRepaired(): boolean {
    return this.#hasRepaired
  }

  /** @returns what applying the facts now would change. */
  compare(facts: readonly Fact[]): Promise<Differences> {
    return this.#dryRun.compare(facts, timeFromMs(this.#o.clock.now()))
  }

  /**
   * Applies facts and stores what that changed as findings.
   * @param state the state read that the facts come from; null: a replay.
   * @returns false when a state read is stale: one that was sent later has been applied (invariant 6).
   */
  async repair(facts: readonly Fact[], state: StateRead | null): Promise<boolean> {
    const { db, observer, clock, recorder, dryRun } = this.#o
    if (!this.#hasRepaired) await this.#noteDamage()
    this.#hasRepaired = true
    if (dryRun) {
      const differences = await this.#dryRun.apply(facts, timeFromMs(clock.now()))
      const findings = this.#findings.findingsOf(differences, state, false)
      await recorder.recordInBatches(findings)
      this.#findings.markReported(differences, findings)
      return true
    }
    return await inApplyTransaction(db, observer, 'reconcile-repair', async (transaction) => {
      const applied = await transaction.apply(facts)
      const findings = this.#findings.findingsOf(applied, state, true)
      await recorder.record(transaction.tx, findings)
      transaction.tx.afterCommit(() => this.#findings.markReported(applied, findings))
      return applied.stale === 0
    })
  }

  /** Derived columns that disagree with the records before any repair are damage of their own. */
  async #noteDamage(): Promise<void> {
    this.#findings.noteDamage(await this.compare(derivedFacts(this.#place, timeFromMs(this.#o.clock.now()), true)))
  }

  /** Stores findings that cannot be repaired. */
  async report(findings: readonly NewFinding[]): Promise<void> {
    if (findings.some(({ standing }) => !standing)) this.#isIncomplete = true
    await this.#o.recorder.recordInBatches(findings)
  }

  /** Reports items that could not be parsed, known ones too, and keeps them in `sync_unreadable`. A dry run only reports. */
  async reportUnreadable(read: ReadKind, raws: readonly string[]): Promise<void> {
    if (raws.length === 0) return
    const { account, submissionId } = this.#place
    const { db, clock, recorder, dryRun } = this.#o
    const items = raws.map((raw): Unreadable => ({ account, submission_id: submissionId, read, raw }))
    const kept = dryRun ? '' : `; ${items.length === 1 ? 'it is' : 'they are'} kept in sync_unreadable`
    const detail = `${items.length} of its items could not be understood and compared${kept}`
    this.#isIncomplete = true
    await db.write('reconcile-findings', async (tx) => {
      if (!dryRun) await noteUnreadable(tx, items, timeFromMs(clock.now()))
      await recorder.record(tx, [finding({ kind: 'unreadable', submissionId, read, detail })])
    })
  }
}
