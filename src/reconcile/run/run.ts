import PQueue from 'p-queue'
import type { Clock } from '../../base/clock.ts'
import { FatalError, messageOf, TransientError } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import type { Observer } from '../../base/observer.ts'
import { timeFromMs } from '../../model/time.ts'
import type { DatabaseConfig, Db } from '../../store/engine/db.ts'
import { LeaseLostError } from '../../store/engine/leases.ts'
import { endRun, type RunClaim, releaseRun } from '../../store/reconcile/claims.ts'
import type { Candidate } from '../../store/reconcile/queue.ts'
import type { RunCounts } from '../../store/reconcile/runs.ts'
import { findRun, type RunRow } from '../../store/reconcile/runs.ts'
import { findingKinds } from '../../store/schema/tables-reconcile.ts'
import type { UpstreamClient } from '../../upstream/client.ts'
import { AuthRefusedError, upstreamClass } from '../../upstream/http/errors.ts'
import { type Checked, type CheckParts, SubmissionCheck } from '../check/check.ts'
import { Comparer } from '../check/comparer.ts'
import { finding } from '../check/finding.ts'
import { Recorder } from '../check/recorder.ts'
import { refusedCredentials, stoppedBecause, wrongIdentity } from './account-check.ts'
import { reportLost } from './lost-changes.ts'
import { type RunStop, runEnd } from './outcome.ts'
import { reportUndelivered } from './pushes.ts'
import { countWanted, submissionsOf } from './queue.ts'

/** How far a run is stored, the lease kept, and the account looked at so often. */
const SAVE_MS = 1_000
/** While some submissions are compared, others are read. */
const HANDS_PER_READ = 2
/** So many submissions in a row that could not be read because nobody answered, for each read at once, and the service is away. */
const SILENT_PER_READ = 3
const STOPPING: ReadonlySet<unknown> = new Set(['network', 'unavailable', 'auth'])

export interface RunParts {
  readonly db: Db
  /** Where `db` is, so that what looks at much does so aside (invariant 13); null where nothing else waits for this process. */
  readonly database: DatabaseConfig | null
  readonly client: UpstreamClient
  readonly clock: Clock
  readonly log: Log
  readonly observer: Observer
  /** Reads at once, unless the run was asked for with another number. */
  readonly concurrency: number
  readonly budgetMs: number
  /** Names of the destinations of the settings. */
  readonly destinations: readonly string[]
  /** What becomes of the run when `signal` aborts: it is over, or another process may go on with it. */
  readonly onAbort: 'stop' | 'release'
  /** Hears each second how far the run is. */
  readonly onProgress?: (run: RunRow, counts: RunCounts) => void
}

/**
 * Works on a run until it is done, its budget has ended, or it cannot go on.
 * @returns the run as it ended; as it stands when it was released.
 * @throws LeaseLostError when another process took it over; what the store throws, then it is taken up again later; and the reason of
 * `signal` when that aborts.
 */
export async function workRun(parts: RunParts, claim: RunClaim, signal: AbortSignal): Promise<RunRow> {
  const recorder = await Recorder.open(parts.db, parts.clock, claim)
  return await new RunWork(parts, claim, recorder).run(signal)
}

class RunWork {
  readonly #o: RunParts
  readonly #claim: RunClaim
  readonly #recorder: Recorder
  /** No more submissions are begun. */
  #stop: RunStop | null = null
  /** What is in hand is broken off, too. */
  readonly #halt = new AbortController()
  #silent = 0
  readonly #deadline: number

  constructor(parts: RunParts, claim: RunClaim, recorder: Recorder) {
    this.#o = parts
    this.#claim = claim
    this.#recorder = recorder
    this.#deadline = parts.clock.now() + parts.budgetMs
  }

  async run(signal: AbortSignal): Promise<RunRow> {
    const ended = new AbortController()
    const saving = this.#keepSaved(ended.signal)
    // Looked at when the work is over; what it throws has halted the work.
    saving.catch(() => undefined)
    try {
      await this.#work(AbortSignal.any([signal, this.#halt.signal]))
    } catch (error) {
      const stopped = this.#stop !== null && error === this.#halt.signal.reason
      if (!stopped && !signal.aborted) {
        // Given free for whoever goes on with it; when even that fails, the lease ends by itself.
        await releaseRun(this.#o.db, this.#claim).catch(() => undefined)
        throw error
      }
    } finally {
      ended.abort()
    }
    await saving
    await this.#recorder.save()
    if (signal.aborted) await this.#leave()
    else await endRun(this.#o.db, this.#claim, runEnd(this.#end(), this.#recorder.counts))
    if (signal.aborted) throw signal.reason
    return this.#told()
  }

  async #told(): Promise<RunRow> {
    const { log, db } = this.#o
    const run = (await findRun(db.read, this.#claim.run.run_id)) ?? this.#claim.run
    const { account, submissions_done: done, submissions_total: total, unreadable, repaired } = run
    const kinds = Object.fromEntries(findingKinds.map((kind) => [kind, run[kind]]))
    const counts = { done, total, ...kinds, repaired }
    const level = run.state === 'failed' || unreadable > 0 ? 'warn' : 'info'
    this.#o.onProgress?.(run, this.#recorder.counts)
    log[level]({ account, run: run.run_id, ...counts }, `reconcile run ${run.state}: ${run.note ?? `${done} of ${total} submissions`}`)
    return run
  }

  /** The caller aborted. */
  async #leave(): Promise<void> {
    const { db, onAbort } = this.#o
    if (onAbort === 'release') return await releaseRun(db, this.#claim)
    const note = `it was stopped ${this.#far()}`
    await endRun(db, this.#claim, runEnd({ state: 'stopped', note }, this.#recorder.counts))
  }

  async #work(signal: AbortSignal): Promise<void> {
    const { db, database, clock, client } = this.#o
    const { run } = this.#claim
    const { account, options } = run
    // First of all: a run that ends at once says too how much it was to check.
    if (run.submissions_total === 0) this.#recorder.expect(await countWanted(db.read, run, signal))
    const closed =
      (await stoppedBecause(db, account)) ?? (await wrongIdentity(db, clock, client, account, options.dry_run ?? false, signal))
    if (closed !== null) {
      this.#stop = { state: 'failed', note: closed }
      return
    }
    // At the beginning: of a run whose budget always ends first, too.
    await reportLost({ db, database, runId: run.run_id, options, recorder: this.#recorder }, signal)
    const concurrency = options.concurrency ?? this.#o.concurrency
    const parts: CheckParts = {
      ...this.#o,
      account,
      runId: run.run_id,
      recorder: this.#recorder,
      comparer: new Comparer(db, clock, account),
      slots: new PQueue({ concurrency }),
      dryRun: options.dry_run ?? false,
      withState: !options.no_state,
    }
    const queue = submissionsOf(db.read, run, signal)
    const hands = Array.from({ length: concurrency * HANDS_PER_READ }, () => this.#hand(queue, parts, concurrency, signal))
    const ends = await Promise.allSettled(hands)
    for (const end of ends) if (end.status === 'rejected') throw end.reason
    if (this.#stop === null) await reportUndelivered({ ...this.#o, account, runId: run.run_id, options, recorder: this.#recorder }, signal)
  }

  async #hand(queue: AsyncGenerator<Candidate>, parts: CheckParts, concurrency: number, signal: AbortSignal): Promise<void> {
    const { clock } = this.#o
    while (this.#stop === null && !signal.aborted) {
      const next = await queue.next()
      if (next.done) return
      if (clock.now() >= this.#deadline) {
        this.#stop ??= { state: 'budget', note: null }
        return
      }
      try {
        await this.#check(next.value, parts, concurrency, signal)
      } catch (error) {
        // The other hands end with what they hold.
        this.#halt.abort(error)
        throw error
      }
    }
    signal.throwIfAborted()
  }

  async #check(candidate: Candidate, parts: CheckParts, concurrency: number, signal: AbortSignal): Promise<void> {
    const { submissionId } = candidate
    const at = timeFromMs(this.#o.clock.now())
    let checked: Checked
    try {
      checked = await new SubmissionCheck(parts, candidate, signal).run()
    } catch (error) {
      if (error instanceof AuthRefusedError) {
        this.#stop = { state: 'failed', note: refusedCredentials(error) }
        throw error
      }
      const ofTheStore = upstreamClass(error) === null && (error instanceof TransientError || error instanceof FatalError)
      if (ofTheStore || error instanceof LeaseLostError || signal.aborted) throw error
      checked = await this.#broken(candidate, error)
    }
    await this.#recorder.visited({ submissionId, at, proved: checked.proved }, checked.compared)
    this.#heed(checked, concurrency)
  }

  /** One submission that cannot be checked through a fault of our own keeps no other from being checked. */
  async #broken({ submissionId }: Candidate, error: unknown): Promise<Checked> {
    const { account, run_id: run } = this.#claim.run
    this.#o.log.error({ account, run, submission: submissionId, err: error }, `a submission could not be checked: ${messageOf(error)}`)
    const detail = `it could not be compared: ${messageOf(error)}`.slice(0, 500)
    await this.#recorder.keepAlone([finding({ kind: 'unreadable', submissionId, detail })])
    return { proved: false, compared: 0, failure: null }
  }

  /** A service that answers nobody any more, or refuses whatever it is asked, is not asked for each of a million submissions. */
  #heed({ failure }: Checked, concurrency: number): void {
    const silent = failure !== null && STOPPING.has(failure.class)
    this.#silent = silent ? this.#silent + 1 : 0
    if (!silent || this.#silent < SILENT_PER_READ * concurrency) return
    const what = failure.class === 'auth' ? 'refuses every read' : 'does not answer any more'
    this.#stop ??= { state: 'failed', note: `the service ${what}: ${failure.reason}` }
  }

  async #keepSaved(over: AbortSignal): Promise<void> {
    const { clock, db, onProgress } = this.#o
    const { run } = this.#claim
    try {
      for (;;) {
        await clock.sleep(SAVE_MS, over)
        if (over.aborted) break
        await this.#recorder.save()
        onProgress?.(run, this.#recorder.counts)
        const closed = await stoppedBecause(db, run.account)
        if (closed !== null) this.#stop ??= { state: 'failed', note: closed }
      }
    } catch (error) {
      this.#halt.abort(error)
      throw error
    }
  }

  #end(): RunStop {
    const far = this.#far()
    if (this.#stop === null) return { state: 'done', note: null }
    if (this.#stop.state === 'budget') return { state: 'budget', note: `its budget ended ${far}` }
    return { ...this.#stop, note: `it ended ${far}: ${this.#stop.note}` }
  }

  #far(): string {
    const { submissions_done: done, submissions_total: total } = this.#recorder.counts
    const dry = this.#claim.run.options.dry_run === true
    const next = dry
      ? 'a dry run leaves no mark where it was: the next run begins where this one did'
      : 'the next run begins with the others'
    return `after ${done} of ${total} submissions; ${next}`
  }
}
