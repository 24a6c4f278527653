import type { Clock } from '../../base/clock.ts'
import { timeFromMs } from '../../model/time.ts'
import type { Db, Tx } from '../../store/engine/db.ts'
import { lockRun, type RunClaim } from '../../store/reconcile/claims.ts'
import { deleteFindings, insertFindings, sumFindings } from '../../store/reconcile/findings.ts'
import { saveProgress, type Visited } from '../../store/reconcile/progress.ts'
import type { RunCounts } from '../../store/reconcile/runs.ts'
import { type FindingKind, findingKinds } from '../../store/schema/tables-reconcile.ts'
import type { FoundDifference } from './finding.ts'

/** So many submissions, or findings by themselves, at most are noted in one transaction. */
const BATCH = 250

/**
 * Keeps what a run finds and how far it is. Findings are stored with what repairs them, in one transaction; that submissions were looked
 * at is stored in batches: whoever takes the run up again looks at a few of them once more, and reports nothing twice. A dry run that is
 * taken up again looks at all of them, and begins its report anew.
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

  /** Begins where the run stands. */
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

  /** Sets how many submissions there are to look at. */
  expect(submissions: number): void {
    this.#counts.submissions_total = submissions
  }

  /** Keeps findings in an open transaction. @throws LeaseLostError when the run is no longer ours. */
  async keep(tx: Tx, found: readonly FoundDifference[]): Promise<void> {
    await lockRun(tx, this.#claim)
    if (found.length === 0) return
    const { run } = this.#claim
    const now = timeFromMs(this.#clock.now())
    const rows = found.map(({ submissionId, entityId, repaired, ...rest }) => {
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

  /** Keeps findings in transactions of their own. */
  async keepAlone(found: readonly FoundDifference[]): Promise<void> {
    for (let from = 0; from < found.length; from += BATCH) {
      await this.#db.write('reconcile-findings', (tx) => this.keep(tx, found.slice(from, from + BATCH)))
    }
  }

  /** A submission was looked at. A dry run writes nothing but its report: whose turn is next is none of it, nor is a proof. */
  async visited(visit: Visited, compared: number): Promise<void> {
    if (this.#claim.run.options.dry_run !== true) this.#visited.push(visit)
    this.#counts.submissions_done += 1
    this.#counts.submissions_total = Math.max(this.#counts.submissions_total, this.#counts.submissions_done)
    this.#counts.rows_compared += compared
    if (this.#visited.length >= BATCH) await this.save()
  }

  /** Stores how far the run is, and keeps it ours. @throws LeaseLostError when it is no longer. */
  save(): Promise<void> {
    const saved = this.#saving.then(() => this.#save())
    this.#saving = saved.catch(() => undefined)
    return saved
  }

  async #save(): Promise<void> {
    const visited = this.#visited
    this.#visited = []
    try {
      // The counts as of now: a submission among `visited` is among them.
      await saveProgress(this.#db, this.#claim, { ...this.#counts }, visited)
    } catch (error) {
      this.#visited = [...visited, ...this.#visited]
      throw error
    }
  }
}
