import type { Clock } from '../../base/clock.ts'
import { timeFromMs } from '../../model/time.ts'
import type { Db, Tx } from '../../store/engine/db.ts'
import { lockRun, type RunClaim } from '../../store/reconcile/claims.ts'
import { deleteFindings, insertFindings, sumFindings } from '../../store/reconcile/findings.ts'
import { saveProgress, type Visited } from '../../store/reconcile/progress.ts'
import type { RunCounts } from '../../store/reconcile/runs.ts'
import { type FindingKind, findingKinds } from '../../store/schema/reconcile.ts'
import type { NewFinding } from './finding.ts'

const BATCH = 250

/**
 * Stores the findings and the progress of a run. Each finding is stored in the transaction of its repair. Progress is
 * stored in batches, so a resumed run checks a few submissions again. No finding is stored twice.
 * A resumed dry run deletes its findings and starts again.
 */
export class Recorder {
  readonly #db: Db
  readonly #clock: Clock
  readonly #claim: RunClaim
  readonly #counts: { -readonly [name in keyof RunCounts]: RunCounts[name] }
  #visited: Visited[] = []
  #lastNo = 0
  #saving: Promise<void> = Promise.resolve()

  private constructor(db: Db, clock: Clock, claim: RunClaim) {
    this.#db = db
    this.#clock = clock
    this.#claim = claim
    const { submissions_total, submissions_done, rows_compared, repaired, known } = claim.run
    const kinds = Object.fromEntries(findingKinds.map((kind) => [kind, claim.run[kind]])) as Record<FindingKind, number>
    this.#counts = { submissions_total, submissions_done, rows_compared, repaired, known, ...kinds }
  }

  /** @returns a recorder that continues the run's counts and findings. */
  static async open(db: Db, clock: Clock, claim: RunClaim): Promise<Recorder> {
    const recorder = new Recorder(db, clock, claim)
    if (claim.resumed && claim.run.options.dry_run === true) await deleteFindings(db, claim)
    else if (claim.resumed) {
      const { counts, lastNo } = await sumFindings(db.read, claim.run.run_id)
      Object.assign(recorder.#counts, counts)
      recorder.#lastNo = lastNo
    }
    return recorder
  }

  get counts(): RunCounts {
    return this.#counts
  }

  setTotal(submissions: number): void {
    this.#counts.submissions_total = submissions
  }

  /** Stores findings in an open transaction. @throws LeaseLostError if another process took over the run. */
  async record(tx: Tx, findings: readonly NewFinding[]): Promise<void> {
    await lockRun(tx, this.#claim)
    if (findings.length === 0) return
    const { run } = this.#claim
    const now = timeFromMs(this.#clock.now())
    const rows = findings.map(({ submissionId, entityId, repaired, ...rest }) => {
      this.#lastNo += 1
      return {
        ...rest,
        run_id: run.run_id,
        finding_no: this.#lastNo,
        account: run.account,
        submission_id: submissionId,
        entity_id: entityId,
        repaired_at: repaired ? now : null,
        found_at: now,
      }
    })
    const raised = await insertFindings(tx, rows)
    tx.afterCommit(() => {
      for (const [name, by] of Object.entries(raised) as [keyof RunCounts, number][]) this.#counts[name] += by
    })
  }

  async recordInBatches(findings: readonly NewFinding[]): Promise<void> {
    for (let from = 0; from < findings.length; from += BATCH) {
      await this.#db.write('reconcile-findings', (tx) => this.record(tx, findings.slice(from, from + BATCH)))
    }
  }

  /**
   * Records that a submission was checked. A dry run stores no checks, because stored checks decide the order of the
   * next run.
   */
  async recordVisit(visit: Visited, compared: number): Promise<void> {
    if (this.#claim.run.options.dry_run !== true) this.#visited.push(visit)
    this.#counts.submissions_done += 1
    this.#counts.submissions_total = Math.max(this.#counts.submissions_total, this.#counts.submissions_done)
    this.#counts.rows_compared += compared
    if (this.#visited.length >= BATCH) await this.save()
  }

  /** Stores the progress and renews the lease. @throws LeaseLostError if another process took over the run. */
  save(): Promise<void> {
    const saved = this.#saving.then(() => this.#save())
    this.#saving = saved.catch(() => undefined)
    return saved
  }

  async #save(): Promise<void> {
    const visited = this.#visited
    this.#visited = []
    try {
      // Stores a copy of the counts that matches `visited`. `recordVisit` may change the counts during the write.
      await saveProgress(this.#db, this.#claim, { ...this.#counts }, visited)
    } catch (error) {
      this.#visited = [...visited, ...this.#visited]
      throw error
    }
  }
}
