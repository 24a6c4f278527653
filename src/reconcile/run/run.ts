import PQueue from 'p-queue'
import type { Clock } from '../../base/clock.ts'
import { FatalError, LeaseLostError, messageOf, TransientError } from '../../base/errors.ts'
import { type TimeLimit, timeLimit } from '../../base/time-limit.ts'
import type { RecordFields } from '../../model/record-fields.ts'
import { timeFromMs } from '../../model/time.ts'
import type { DatabaseConfig, Db, ServiceParts } from '../../store/engine/db.ts'
import { findAccount, pinBrokerage } from '../../store/reads/accounts.ts'
import { endRun, type RunClaim, releaseRun } from '../../store/reconcile/claims.ts'
import type { Candidate } from '../../store/reconcile/queue.ts'
import { findRun, type RunCounts, type RunRow } from '../../store/reconcile/runs.ts'
import { findingKinds } from '../../store/schema/reconcile.ts'
import type { UpstreamClient } from '../../upstream/client.ts'
import { AuthRefusedError, upstreamClass } from '../../upstream/http/errors.ts'
import { attempt } from '../check/attempts.ts'
import { Comparer } from '../check/comparer.ts'
import { finding } from '../check/finding.ts'
import { Recorder } from '../check/recorder.ts'
import { type CheckContext, type CheckResult, SubmissionCheck } from '../check/submission-check.ts'
import { reportLost } from './lost-changes.ts'
import { type RunStop, runEnd } from './outcome.ts'
import { reportUndelivered } from './pushes.ts'
import { countSubmissions, submissionsOf } from './queue.ts'

const SAVE_INTERVAL_MS = 1_000
/** Workers for each concurrent read. Some workers compare submissions while others read. */
const WORKERS_PER_READ = 2
/**
 * The run ends after N submissions in a row whose reads all failed because of an outage or refused credentials. N is
 * this number times the number of concurrent reads.
 */
const MAX_UNANSWERED_PER_READ = 3
const OUTAGE_CLASSES: ReadonlySet<unknown> = new Set(['network', 'unavailable', 'auth'])

export interface RunContext extends ServiceParts {
  /** Used to run long reads on another thread; null: long reads use `db`. */
  readonly database: DatabaseConfig | null
  readonly client: UpstreamClient
  readonly recordFields: RecordFields
  /** Number of concurrent reads. The run's options may override it. */
  readonly concurrency: number
  readonly budgetMs: number
  readonly destinations: readonly string[]
  /** What happens on abort. `stop`: the run ends. `release`: another process can resume the run. */
  readonly onAbort: 'stop' | 'release'
  /** Called every second, and at the end of the run. */
  readonly onProgress?: (run: RunRow, counts: RunCounts) => void
}

/**
 * Carries out a run until the run is done, its budget (time limit) ends, or it fails. After a database error, the run
 * is resumed later.
 * @returns the stored run.
 * @throws LeaseLostError if another process took over the run; database errors; the abort reason of `signal`.
 */
export async function workRun(parts: RunContext, claim: RunClaim, signal: AbortSignal): Promise<RunRow> {
  const recorder = await Recorder.open(parts.db, parts.clock, claim)
  return await new RunWork(parts, claim, recorder).run(signal)
}

class RunWork {
  readonly #o: RunContext
  readonly #claim: RunClaim
  readonly #recorder: Recorder
  /** Why the run stops; null while the run continues. After a reason is set, no further submission starts. */
  #stop: RunStop | null = null
  /** Cancels the checks in flight. */
  readonly #abort = new AbortController()
  #unanswered = 0
  readonly #budget: TimeLimit

  constructor(parts: RunContext, claim: RunClaim, recorder: Recorder) {
    this.#o = parts
    this.#claim = claim
    this.#recorder = recorder
    this.#budget = timeLimit(parts.clock, parts.budgetMs)
  }

  async run(signal: AbortSignal): Promise<RunRow> {
    try {
      return await this.#run(signal)
    } catch (error) {
      if (error instanceof LeaseLostError && (await this.#wasStopped())) return await this.#reportEnd()
      throw error
    }
  }

  async #wasStopped(): Promise<boolean> {
    return (await findRun(this.#o.db.read, this.#claim.run.run_id))?.state === 'stopped'
  }

  async #run(signal: AbortSignal): Promise<RunRow> {
    const ended = new AbortController()
    const saving = this.#saveRegularly(ended.signal)
    // An error of `saving` aborts the work, and is thrown where `saving` is awaited below. The empty handler prevents
    // an unhandled rejection.
    saving.catch(() => undefined)
    try {
      await this.#work(AbortSignal.any([signal, this.#abort.signal]))
    } catch (error) {
      const stopped = this.#stop !== null && error === this.#abort.signal.reason
      if (!stopped && !signal.aborted) {
        // Lets another process resume the run immediately. If the release fails, the run can be resumed after
        // its lease expires.
        await releaseRun(this.#o.db, this.#claim).catch(() => undefined)
        throw error
      }
    } finally {
      ended.abort()
    }
    await saving
    await this.#recorder.save()
    if (signal.aborted) await this.#endAborted()
    else await endRun(this.#o.db, this.#claim, runEnd(this.#end(), this.#recorder.counts))
    if (signal.aborted) throw signal.reason
    return this.#reportEnd()
  }

  async #reportEnd(): Promise<RunRow> {
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

  async #endAborted(): Promise<void> {
    const { db, onAbort } = this.#o
    if (onAbort === 'release') return await releaseRun(db, this.#claim)
    const note = `it was stopped ${this.#progressText()}`
    await endRun(db, this.#claim, runEnd({ state: 'stopped', note }, this.#recorder.counts))
  }

  async #work(signal: AbortSignal): Promise<void> {
    const { db, database, clock, client } = this.#o
    const { run } = this.#claim
    const { account, options } = run
    // Counts the submissions first, so that a run that ends early also reports the total.
    if (run.submissions_total === 0) this.#recorder.setTotal(await countSubmissions(db.read, run, signal))
    const problem =
      (await inactiveReason(db, account)) ?? (await identityProblem(db, clock, client, account, options.dry_run ?? false, signal))
    if (problem !== null) {
      this.#stop = { state: 'failed', note: problem }
      return
    }
    // Runs before the checks, so that this report isn't skipped if the budget (time limit) ends.
    await reportLost({ db, database, runId: run.run_id, options, recorder: this.#recorder }, signal)
    const concurrency = options.concurrency ?? this.#o.concurrency
    const parts: CheckContext = {
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
    const workers = Array.from({ length: concurrency * WORKERS_PER_READ }, () => this.#worker(queue, parts, concurrency, signal))
    const ends = await Promise.allSettled(workers)
    for (const end of ends) if (end.status === 'rejected') throw end.reason
    if (this.#stop === null) await reportUndelivered({ ...this.#o, account, runId: run.run_id, options, recorder: this.#recorder }, signal)
  }

  async #worker(queue: AsyncGenerator<Candidate>, parts: CheckContext, concurrency: number, signal: AbortSignal): Promise<void> {
    while (this.#stop === null && !signal.aborted) {
      const next = await queue.next()
      if (next.done) return
      if (this.#budget.leftMs() <= 0) {
        this.#stop ??= { state: 'budget', note: null }
        return
      }
      try {
        await this.#check(next.value, parts, concurrency, signal)
      } catch (error) {
        this.#abort.abort(error)
        throw error
      }
    }
    signal.throwIfAborted()
  }

  async #check(candidate: Candidate, parts: CheckContext, concurrency: number, signal: AbortSignal): Promise<void> {
    const { submissionId } = candidate
    const at = timeFromMs(this.#o.clock.now())
    let checked: CheckResult
    try {
      checked = await new SubmissionCheck(parts, candidate, signal).run()
    } catch (error) {
      if (error instanceof AuthRefusedError) {
        this.#stop = { state: 'failed', note: credentialsProblem(error) }
        throw error
      }
      const isDatabaseError = upstreamClass(error) === null && (error instanceof TransientError || error instanceof FatalError)
      if (isDatabaseError || error instanceof LeaseLostError || signal.aborted) throw error
      checked = await this.#recordFault(candidate, error)
    }
    await this.#recorder.recordVisit(
      { submissionId, at, isReconciled: checked.isReconciled, unconfirmed: checked.unconfirmed },
      checked.compared,
    )
    this.#stopOnOutage(checked, concurrency)
  }

  async #recordFault({ submissionId }: Candidate, error: unknown): Promise<CheckResult> {
    const { account, run_id: run } = this.#claim.run
    this.#o.log.error(
      { account, run, submission: submissionId, err: error },
      `submission ${submissionId} could not be checked (${messageOf(error)}); the run continues with the others and reports it as unreadable`,
    )
    const detail = `comparing it failed: ${messageOf(error)}`.slice(0, 500)
    await this.#recorder.recordInBatches([finding({ kind: 'unreadable', submissionId, detail })])
    return { isReconciled: false, unconfirmed: [], compared: 0, failure: null }
  }

  #stopOnOutage({ failure }: CheckResult, concurrency: number): void {
    const isOutage = failure !== null && OUTAGE_CLASSES.has(failure.class)
    this.#unanswered = isOutage ? this.#unanswered + 1 : 0
    if (!isOutage || this.#unanswered < MAX_UNANSWERED_PER_READ * concurrency) return
    const what = failure.class === 'auth' ? 'rejects every read' : 'no longer answers'
    this.#stop ??= { state: 'failed', note: `the service ${what}: ${failure.reason}` }
  }

  async #saveRegularly(ended: AbortSignal): Promise<void> {
    const { clock, db, onProgress } = this.#o
    const { run } = this.#claim
    try {
      for (;;) {
        await clock.sleep(SAVE_INTERVAL_MS, ended)
        if (ended.aborted) break
        await this.#recorder.save()
        onProgress?.(run, this.#recorder.counts)
        const inactive = await inactiveReason(db, run.account)
        if (inactive !== null) this.#stop ??= { state: 'failed', note: inactive }
        this.#stopOnLongPause()
      }
    } catch (error) {
      this.#abort.abort(error)
      throw error
    }
  }

  #stopOnLongPause(): void {
    const { client, clock } = this.#o
    const pause = client.pause()
    if (pause === null || pause.ms < this.#budget.leftMs() || this.#stop !== null) return
    const until = timeFromMs(clock.now() + pause.ms)
    this.#stop = {
      state: 'budget',
      note: `the service asks for a pause until ${until.slice(0, 19)}Z (${pause.reason}), beyond the budget of the run`,
    }
    this.#abort.abort(new Error(this.#stop.note ?? ''))
  }

  #end(): RunStop {
    const progress = this.#progressText()
    if (this.#stop === null) return { state: 'done', note: null }
    if (this.#stop.state === 'budget' && this.#stop.note === null) return { state: 'budget', note: `its budget ended ${progress}` }
    return { ...this.#stop, note: `it ended ${progress}: ${this.#stop.note}` }
  }

  #progressText(): string {
    const { submissions_done: done, submissions_total: total } = this.#recorder.counts
    const dry = this.#claim.run.options.dry_run === true
    const next = dry ? 'after a dry run, the next run starts at the same submission' : 'the next run continues with the others'
    return `after ${done} of ${total} submissions; ${next}`
  }
}

async function inactiveReason(db: Db, account: string): Promise<string | null> {
  const row = await findAccount(db.read, account)
  if (row === null || row.state === 'active') return null
  return `account ${account} is ${row.state}: ${row.reason ?? 'no reason recorded'}; see \`submission-mirror account list\``
}

/**
 * Checks that the credentials belong to the account's brokerage. With other credentials, every submission
 * would look gone.
 * @returns the problem; null if there is none.
 */
async function identityProblem(
  db: Db,
  clock: Clock,
  client: UpstreamClient,
  account: string,
  dryRun: boolean,
  signal: AbortSignal,
): Promise<string | null> {
  try {
    const identity = await attempt(clock, client, signal, () => client.me(signal))
    if (!identity.ok) return `reading the identity behind the credentials failed: ${identity.failure.reason}`
    const { brokerage } = identity.value
    const pinned = (await findAccount(db.read, account))?.brokerage ?? null
    if (pinned !== null && pinned !== brokerage) {
      return `the credentials belong to brokerage ${brokerage}, but account ${account} holds the data of ${pinned}`
    }
    if (pinned === null && !dryRun) await pinBrokerage(db, account, identity.value)
    return null
  } catch (error) {
    if (!(error instanceof AuthRefusedError)) throw error
    return credentialsProblem(error)
  }
}

function credentialsProblem(error: AuthRefusedError): string {
  return `the service rejects the credentials: ${error.message}; check client id, secret and base URL`
}
