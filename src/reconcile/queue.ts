import type { Query } from '../store/db.ts'
import { type Candidate, candidatesById, candidatesByProof, candidatesOf, type QueuePlace } from '../store/reconcile-queue.ts'
import type { RunRow } from '../store/reconcile-runs.ts'

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
 * The submissions of a run that it has not looked at yet: first those that were never proved, then the oldest proof first. So a run whose
 * budget ends leaves to the next what was not looked at for the longest time.
 */
export async function* submissionsOf(q: Query, run: RunRow, signal: AbortSignal): AsyncGenerator<Candidate> {
  const { account, options, run_id, started_at } = run
  const isOpen = (one: Candidate) => one.wanted && one.runId !== run_id
  if (options.submissions !== undefined) {
    for (const ids of pagesOf(options.submissions)) yield* (await candidatesOf(q, account, options, ids)).filter(isOpen)
    return
  }
  for await (const page of byId(q, run, signal)) yield* page.filter((one) => isOpen(one) && one.provedAt === null)
  let after: QueuePlace | null = null
  for (;;) {
    signal.throwIfAborted()
    const page: Candidate[] = await candidatesByProof(q, account, options, after, PAGE)
    // What has been proved since the run began, was proved by it.
    yield* page.filter((one) => isOpen(one) && one.provedAt !== null && one.provedAt < (started_at ?? ''))
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE || last.provedAt === null || last.provedAt >= (started_at ?? '')) return
    after = { provedAt: last.provedAt, submissionId: last.submissionId }
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
  }
}

function* pagesOf(ids: readonly string[]): Generator<string[]> {
  const distinct = [...new Set(ids)]
  for (let from = 0; from < distinct.length; from += PAGE) yield distinct.slice(from, from + PAGE)
}
