import type { Query } from '../../store/engine/db.ts'
import { submissionItems } from '../../store/mirror/submission-items.ts'
import { accountsWithSubmissions, listSubmissions, type SubmissionOrder, type SubmissionPlace } from '../../store/mirror/submission-list.ts'
import type { SubmissionFilter } from '../../store/mirror/submission-search.ts'

interface SubmissionsQuery extends SubmissionFilter {
  readonly account?: string | undefined
  readonly order: SubmissionOrder
  readonly after?: SubmissionPlace | undefined
  readonly limit: number
}

/** @returns a page of submissions. `next` is the position of the next page, or null on the last page. */
export async function submissionsPage(q: Query, { account, order, after, limit, ...filter }: SubmissionsQuery) {
  const accounts = account === undefined ? await accountsWithSubmissions(q) : [account]
  const places = await listSubmissions(q, accounts, filter, { order, after, limit: limit + 1 })
  const shown = places.slice(0, limit)
  return { items: await submissionItems(q, shown), next: places.length > limit ? (shown.at(-1) ?? null) : null }
}
