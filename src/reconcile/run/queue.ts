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

/** How many submissions a run is to look at. */
export async function countWanted(q: Query, run: RunRow, signal: AbortSignal): Promise<number> {
  const { account, options } = run
  let wanted = 0
  if (options.submissions !== undefined) {
    for (const ids of pagesOf(options.submissions))
      wanted += (await candidatesOf(q, account, options, ids)).filter((one) => one.wanted).length
    return wanted
  }
  for await (const page of byId(q, run, signal)) wanted += page.filter((one) => one.wanted).length
  return wanted
}

/**
 * The submissions of a run that it has not looked at yet: first those that no run ever looked at, then those that were looked at, or
 * proved, the longest time ago. So a run whose budget ends leaves the others to the next, and what cannot be proved, however often it is
 * tried, uses up the budget of no run.
 */
export async function* submissionsOf(q: Query, run: RunRow, signal: AbortSignal): AsyncGenerator<Candidate> {
  const { account, options, run_id } = run
  const otherSince = run.submissions_done > 0 ? await nextOtherRunStart(q, run) : null
  const isOpen = (one: Candidate) => one.wanted && one.runId !== run_id && !lookedAt(run, one, otherSince)
  if (options.submissions !== undefined) {
    for (const ids of pagesOf(options.submissions)) yield* (await candidatesOf(q, account, options, ids)).filter(isOpen)
    return
  }
  const tried = new DeferredSubmissions(async (id) => (await candidatesOf(q, account, options, [id])).filter(isOpen))
  // What is proved from now on is proved by this run. Only proofs are compared with it: other clocks may go otherwise.
  const newest = await newestProof(q, account)
  for await (const page of byId(q, run, signal)) {
    for (const one of page) if (isOpen(one) && one.provedAt === null) yield* one.visitedAt === null ? [one] : tried.add(one, one.visitedAt)
  }
  for await (const page of byProof(q, run, newest, signal)) {
    for (const one of page) {
      if (!isOpen(one) || one.provedAt === null) continue
      yield* tried.until(one.provedAt)
      yield* one.visitedAt === null || one.visitedAt <= one.provedAt ? [one] : tried.add(one, one.visitedAt)
    }
  }
  yield* tried.until(null)
}

/** Proved submissions, the oldest proof first, up to the proof that is given. */
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
    // On SQLite reading never waits: deliveries and answers come between.
    await turn()
  }
}

/**
 * Whether a run that is taken up again came by before, and could not prove it: an older proof then bears the older run.
 * @param otherSince when another run began meanwhile: whose visit it was is not known from then on.
 */
function lookedAt({ submissions_done, started_at }: RunRow, { visitedAt }: Candidate, otherSince: TimeText | null): boolean {
  if (submissions_done === 0 || started_at === null || visitedAt === null || visitedAt < started_at) return false
  return otherSince === null || visitedAt < otherSince
}

function* pagesOf(ids: readonly string[]): Generator<string[]> {
  const distinct = [...new Set(ids)]
  for (let from = 0; from < distinct.length; from += PAGE) yield distinct.slice(from, from + PAGE)
}
