import { inApplyTransaction } from '../../apply/apply.ts'
import { type Differences, DryRun } from '../../apply/compare.ts'
import { contentHash } from '../../apply/content-hash.ts'
import type { Clock } from '../../base/clock.ts'
import type { Observer } from '../../base/observer.ts'
import type { Change } from '../../model/change.ts'
import type { Observation, SubmissionRef } from '../../model/observations.ts'
import { isIdRead, type ReadKind, type StateRead } from '../../model/reads.ts'
import { timeFromMs } from '../../model/time.ts'
import { loggedRows } from '../../store/changes/reader.ts'
import type { Db, Query } from '../../store/engine/db.ts'
import { noteUnreadable, type Unreadable } from '../../store/mirror/conflicts.ts'
import { MirrorReader } from '../../store/mirror/reader.ts'
import { isNewerState } from '../../store/reads/content-hashes.ts'
import { derivedObservations } from './comparer.ts'
import { type FindingBuilder, finding, hasMoved, type NewFinding } from './finding.ts'
import type { Recorder } from './recorder.ts'

export interface RepairContext {
  readonly db: Db
  readonly clock: Clock
  readonly observer: Observer
  readonly recorder: Recorder
  readonly dryRun: boolean
}

/**
 * Repairs the differences of one submission, and stores the findings in the same transaction. A dry run only
 * stores the findings.
 */
export class Repairer {
  readonly #o: RepairContext
  readonly #place: SubmissionRef
  readonly #findings: FindingBuilder
  /** Compares observations with the mirror without writing. A dry run also keeps the repaired rows here. */
  readonly #dryRun: DryRun
  #isIncomplete = false
  #hasRepaired = false

  constructor(parts: RepairContext, place: SubmissionRef, findings: FindingBuilder) {
    this.#o = parts
    this.#place = place
    this.#findings = findings
    this.#dryRun = new DryRun(new MirrorReader(parts.db.read, place.account))
  }

  /** True if a difference wasn't repaired or a part couldn't be checked. */
  get isIncomplete(): boolean {
    return this.#isIncomplete
  }

  /** True if something was repaired. In a dry run, true if something would be repaired. */
  get hasRepaired(): boolean {
    return this.#hasRepaired
  }

  /** @returns the changes that `observations` would make. Writes nothing. */
  compare(observations: readonly Observation[]): Promise<Differences> {
    return this.#dryRun.compare(observations, timeFromMs(this.#o.clock.now()))
  }

  /**
   * Applies observations, and stores their changes as findings.
   * @param state the state read that returned the observations; null: a full re-read.
   * @returns false if a newer state read was already applied; otherwise true.
   */
  async repair(observations: readonly Observation[], state: StateRead | null): Promise<boolean> {
    const { db, observer, clock, recorder, dryRun } = this.#o
    if (!this.#hasRepaired) await this.#noteDamage()
    this.#hasRepaired = true
    if (dryRun) {
      const isStateNewer = await isNewer(db.read, observations)
      const differences = await this.#dryRun.apply(observations, timeFromMs(clock.now()))
      const moved = await this.#movedOf(db.read, differences, isStateNewer)
      const findings = this.#findings.findingsOf(differences, state, moved, false)
      await recorder.recordInBatches(findings)
      this.#findings.markReported(differences, findings)
      return true
    }
    return await inApplyTransaction(db, observer, 'reconcile-repair', async (transaction) => {
      const { tx } = transaction
      const isStateNewer = await isNewer(tx, observations)
      const applied = await transaction.apply(observations)
      const moved = await this.#movedOf(tx, applied, isStateNewer)
      const findings = this.#findings.findingsOf(applied, state, moved, true)
      await recorder.record(tx, findings)
      tx.afterCommit(() => this.#findings.markReported(applied, findings))
      return applied.stale === 0
    })
  }

  /**
   * @returns the differences that the service caused after the mirror's last read. Call this before the transaction
   * writes to the change log.
   */
  async #movedOf(q: Query, differences: Differences, isStateNewer: boolean | null): Promise<ReadonlySet<Change>> {
    const changes = this.#findings.mayHaveMoved(differences, isStateNewer)
    const logged = await loggedRows(q, this.#place, changes)
    const moved = changes.filter((change) => hasMoved(change, logged.get(`${change.entity} ${change.entity_id}`)))
    // The change log doesn't contain `raw`. If the service changed another column after the mirror's last read,
    // differences in `raw` also count as `moved`.
    const hasNewRaw = isStateNewer === true && (moved.length > 0 || this.#findings.hasMoved)
    return new Set([...moved, ...(hasNewRaw ? differences.rawOnly : [])])
  }

  async #noteDamage(): Promise<void> {
    this.#findings.noteDamage(await this.compare(derivedObservations(this.#place, timeFromMs(this.#o.clock.now()), true)))
  }

  /** Stores findings of differences that aren't repaired. */
  async report(findings: readonly NewFinding[]): Promise<void> {
    if (findings.some(({ known }) => !known)) this.#isIncomplete = true
    await this.#o.recorder.recordInBatches(findings)
  }

  /** Reports malformed items. Also stores them in `sync_unreadable`, except in a dry run. */
  async reportUnreadable(read: ReadKind, raws: readonly string[]): Promise<void> {
    if (raws.length === 0) return
    const { account, submissionId } = this.#place
    const { db, clock, recorder, dryRun } = this.#o
    const items = raws.map((raw): Unreadable => ({ account, submission_id: submissionId, read, raw }))
    const kept = dryRun ? '' : `; stored in sync_unreadable`
    const detail = `${items.length} malformed ${items.length === 1 ? 'item' : 'items'} could not be compared${kept}`
    // The specification doesn't define the sessions read. Its malformed items are stored, but aren't reported as
    // findings.
    const isSpecified = read !== 'sessions'
    if (isSpecified) this.#isIncomplete = true
    await db.write('reconcile-findings', async (tx) => {
      if (!dryRun) await noteUnreadable(tx, items, timeFromMs(clock.now()))
      if (isSpecified) await recorder.record(tx, [finding({ kind: 'unreadable', submissionId, read, detail })])
    })
  }
}

/**
 * @returns whether the observed state is newer than the stored state; null if the observation isn't a state. If the
 * answer of a read by id has no rows, the answer doesn't count as newer.
 */
async function isNewer(q: Query, [observation]: readonly Observation[]): Promise<boolean | null> {
  if (observation?.kind !== 'state') return null
  if (isIdRead(observation.read) && observation.view.lists.every(({ rows }) => rows.length === 0)) return false
  return await isNewerState(q, observation, contentHash(q.protection, observation))
}
