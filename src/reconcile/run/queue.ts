import { setImmediate as turn } from 'node:timers/promises'
import type { TimeText } from '../../model/time.ts'
import type { Query } from '../../store/engine/db.ts'
import {
  type Candidate,
  candidatesById,
  candidatesByProof,
  candidatesOf,
  newestProof,
  nextOtherRunStart,
  type ProofPosition,
} from '../../store/reconcile/queue.ts'
import type { RunRow } from '../../store/reconcile/runs.ts'
import { DeferredSubmissions } from './deferred-submissions.ts'

const PAGE = 500

/** @returns how many submissions a run has to check. */
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
 * The submissions that a run has not checked yet: first those that no run ever visited, then by the time of the last proof or visit, the
 * oldest first. So the next run continues where the budget of this one ended, and a submission that cannot be proved does not use up the
 * budget of every run.
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
  // Later proofs are this run's own. Compared only with other proofs: the database's clock may differ from ours.
  const newest = await newestProof(q, account)
  for await (const page of byId(q, run, signal)) {
    for (const one of page)
      if (isOpen(one) && one.provedAt === null) yield* one.visitedAt === null ? [one] : deferred.add(one, one.visitedAt)
  }
  for await (const page of byProof(q, run, newest, signal)) {
    for (const one of page) {
      if (!isOpen(one) || one.provedAt === null) continue
      yield* deferred.until(one.provedAt)
      yield* one.visitedAt === null || one.visitedAt <= one.provedAt ? [one] : deferred.add(one, one.visitedAt)
    }
  }
  yield* deferred.until(null)
}

/** Proved submissions, the oldest proof first, up to the time `newest`. */
async function* byProof(q: Query, run: RunRow, newest: TimeText | null, signal: AbortSignal): AsyncGenerator<Candidate[]> {
  for (let after: ProofPosition | null = null; newest !== null; ) {
    signal.throwIfAborted()
    const page: Candidate[] = await candidatesByProof(q, run.account, run.options, after, PAGE)
    yield page
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE || last.provedAt === null || last.provedAt > newest) return
    after = { provedAt: last.provedAt, submissionId: last.submissionId }
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
    // A read on SQLite is synchronous: this lets deliveries and HTTP answers in.
    await turn()
  }
}

/**
 * Whether a resumed run has visited the submission already without proving it; its row then still names the run of an older proof.
 * @param otherSince when another run began after this one: a later visit may be that run's.
 */
function wasVisited({ submissions_done, started_at }: RunRow, { visitedAt }: Candidate, otherSince: TimeText | null): boolean {
  if (submissions_done === 0 || started_at === null || visitedAt === null || visitedAt < started_at) return false
  return otherSince === null || visitedAt < otherSince
}

function* idPages(ids: readonly string[]): Generator<string[]> {
  const distinct = [...new Set(ids)]
  for (let from = 0; from < distinct.length; from += PAGE) yield distinct.slice(from, from + PAGE)
}
