import { setImmediate as turn } from 'node:timers/promises'
import type { TimeText } from '../../model/time.ts'
import type { Query } from '../../store/engine/db.ts'
import {
  type Candidate,
  candidatesById,
  candidatesByReconciled,
  candidatesOf,
  newestReconciled,
  nextOtherRunStart,
  type ReconciledPosition,
} from '../../store/reconcile/queue.ts'
import type { RunRow } from '../../store/reconcile/runs.ts'

const PAGE = 500

/** @returns the number of submissions that a run must check. */
export async function countSubmissions(q: Query, run: RunRow, signal: AbortSignal): Promise<number> {
  const { account, options } = run
  let wanted = 0
  if (options.submissions !== undefined) {
    for (const ids of idPages(options.submissions))
      wanted += (await candidatesOf(q, account, options, ids)).filter((one) => one.wanted).length
    return wanted
  }
  for await (const page of byId(q, run, signal)) wanted += page.filter((one) => one.wanted).length
  return wanted
}

/**
 * Yields the submissions that a run must still check. Submissions that were never checked come first. The others follow
 * by their last check or `reconciled_at`, whichever is later, oldest first.
 * If the budget (time limit) ends a run, the next run continues with the remaining submissions. Submissions that always
 * fail don't use up the budget of every run.
 */
export async function* submissionsOf(q: Query, run: RunRow, signal: AbortSignal): AsyncGenerator<Candidate> {
  const { account, options, run_id } = run
  const otherSince = run.submissions_done > 0 ? await nextOtherRunStart(q, run) : null
  const isOpen = (one: Candidate) => one.wanted && one.runId !== run_id && !wasVisited(run, one, otherSince)
  if (options.submissions !== undefined) {
    for (const ids of idPages(options.submissions)) yield* (await candidatesOf(q, account, options, ids)).filter(isOpen)
    return
  }
  const deferred = new DeferredSubmissions(async (id) => (await candidatesOf(q, account, options, [id])).filter(isOpen))
  // Reads reconciled submissions only up to the `reconciled_at` that is the newest now, because this run adds later
  // times. The newest time comes from the database, because this process's clock may differ.
  const newest = await newestReconciled(q, account)
  for await (const page of byId(q, run, signal)) {
    for (const one of page)
      if (isOpen(one) && one.reconciledAt === null) yield* one.visitedAt === null ? [one] : deferred.add(one, one.visitedAt)
  }
  for await (const page of byReconciled(q, run, newest, signal)) {
    for (const one of page) {
      if (!isOpen(one) || one.reconciledAt === null) continue
      yield* deferred.until(one.reconciledAt)
      yield* one.visitedAt === null || one.visitedAt <= one.reconciledAt ? [one] : deferred.add(one, one.visitedAt)
    }
  }
  yield* deferred.until(null)
}

async function* byReconciled(q: Query, run: RunRow, newest: TimeText | null, signal: AbortSignal): AsyncGenerator<Candidate[]> {
  for (let after: ReconciledPosition | null = null; newest !== null; ) {
    signal.throwIfAborted()
    const page: Candidate[] = await candidatesByReconciled(q, run.account, run.options, after, PAGE)
    yield page
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE || last.reconciledAt === null || last.reconciledAt > newest) return
    after = { reconciledAt: last.reconciledAt, submissionId: last.submissionId }
    await turn()
  }
}

async function* byId(q: Query, run: RunRow, signal: AbortSignal): AsyncGenerator<Candidate[]> {
  for (let after = ''; ; ) {
    signal.throwIfAborted()
    const page = await candidatesById(q, run.account, run.options, after, PAGE)
    yield page
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE) return
    after = last.submissionId
    // Lets deliveries and HTTP requests run between reads, because reads block the process on SQLite.
    await turn()
  }
}

/**
 * True if a resumed run already checked the submission without reconciling it.
 * @param otherSince start of the account's next run; null if there was none. If the check came after this start,
 * returns false, because the next run may have made the check.
 */
function wasVisited({ submissions_done, started_at }: RunRow, { visitedAt }: Candidate, otherSince: TimeText | null): boolean {
  if (submissions_done === 0 || started_at === null || visitedAt === null || visitedAt < started_at) return false
  return otherSince === null || visitedAt < otherSince
}

function* idPages(ids: readonly string[]): Generator<string[]> {
  const distinct = [...new Set(ids)]
  for (let from = 0; from < distinct.length; from += PAGE) yield distinct.slice(from, from + PAGE)
}

/**
 * Maximum number of deferred submissions, to limit memory. Above this number, the submission with the oldest check
 * is checked early.
 */
const MAX_DEFERRED = 20_000

interface Deferred {
  readonly submissionId: string
  readonly at: TimeText
}

/**
 * Submissions that weren't reconciled by their last check, ordered by the time of that check. A deferred submission is
 * checked together with submissions that were reconciled at about the same time. Otherwise a submission that always
 * fails would come first in every run.
 */
export class DeferredSubmissions {
  readonly #find: (submissionId: string) => Promise<readonly Candidate[]>
  readonly #deferred: Deferred[] = []

  /** @param find loads a submission when it is due; returns an empty list if the submission needs no check. */
  constructor(find: (submissionId: string) => Promise<readonly Candidate[]>) {
    this.#find = find
  }

  /** @param at time of the last check. @yields the submission with the oldest check, if the limit is exceeded. */
  async *add({ submissionId }: Candidate, at: TimeText): AsyncGenerator<Candidate> {
    let [low, high] = [0, this.#deferred.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#deferred[middle]?.at ?? '') <= at) low = middle + 1
      else high = middle
    }
    this.#deferred.splice(low, 0, { submissionId, at })
    if (this.#deferred.length > MAX_DEFERRED) yield* await this.#next()
  }

  /** @yields the deferred submissions that were last checked before `time`; all of them if `time` is null. */
  async *until(time: TimeText | null): AsyncGenerator<Candidate> {
    for (let first = this.#deferred[0]; first && (time === null || first.at < time); first = this.#deferred[0]) yield* await this.#next()
  }

  async #next(): Promise<readonly Candidate[]> {
    const next = this.#deferred.shift()
    return next ? await this.#find(next.submissionId) : []
  }
}
