import type { DestinationConfig } from '../../config/config.ts'
import { readableRow } from '../../model/damaged.ts'
import type { Entity, Row } from '../../model/entity.ts'
import { rowKeyOf } from '../../model/row-key.ts'
import { listCompleteness } from '../../store/completeness/ledger-list.ts'
import type { Query } from '../../store/engine/db.ts'
import { openItemsOf, quotesOf } from '../../store/mirror/open-work.ts'
import { type Reached, reachedOf } from '../../store/mirror/reached.ts'
import { type SubmissionItem, submissionItems } from '../../store/mirror/submission-items.ts'
import { accountsWithSubmissions, listSubmissions, type SubmissionOrder, type SubmissionPlace } from '../../store/mirror/submission-list.ts'
import type { SubmissionFilter } from '../../store/mirror/submission-search.ts'
import { clientsOf, extraReadsOf, freshnessOf, wholeSubmission } from '../../store/mirror/whole-submission.ts'
import { NotFoundError } from '../output/refusals.ts'
import { untrackedText } from './submissions.ts'

export interface SubmissionsAsked extends SubmissionFilter {
  readonly account?: string | undefined
  readonly order: SubmissionOrder
  readonly after?: SubmissionPlace | undefined
  readonly limit: number
}

/** A page of submissions; `next` is the place behind which the list goes on, null at its end. */
export async function submissionsPage(
  q: Query,
  { account, order, after, limit, ...filter }: SubmissionsAsked,
): Promise<{ items: SubmissionItem[]; next: SubmissionPlace | null }> {
  const accounts = account === undefined ? await accountsWithSubmissions(q) : [account]
  const places = await listSubmissions(q, accounts, filter, { order, after, limit: limit + 1 })
  const shown = places.slice(0, limit)
  return { items: await submissionItems(q, shown), next: places.length > limit ? (shown.at(-1) ?? null) : null }
}

/**
 * Everything that the mirror holds of a submission, but for its timeline.
 * @param limit rows of each table. @param destinations those of the settings.
 * @throws NotFoundError when it is not tracked in the account.
 */
export async function submissionView(
  q: Query,
  account: string,
  submissionId: string,
  { limit, destinations }: { readonly limit: number; readonly destinations: readonly DestinationConfig[] },
) {
  const key = { account, submission_id: submissionId }
  const [summary] = await submissionItems(q, [key])
  if (summary === undefined) throw new NotFoundError([untrackedText(submissionId, account)])
  const [tables, freshness, [ledger], clients, open_items, quote_board, extraReads, reached] = await Promise.all([
    wholeSubmission(q, key),
    freshnessOf(q, key),
    listCompleteness(q, { account, submissionId }, 1),
    clientsOf(q, key),
    openItemsOf(q, key),
    quotesOf(q, key),
    extraReadsOf(q, key),
    reachedOf(q, key),
  ])
  return {
    summary,
    tables: Object.fromEntries(tables.map(({ entity, rows }) => [entity.table, rows.slice(0, limit).map((row) => keyed(entity, row))])),
    cut: tables.filter(({ rows, isCut }) => isCut || rows.length > limit).map(({ entity }) => entity.table),
    freshness,
    ledger: ledger ?? null,
    clients,
    reached: ofAccount(reached, account, destinations),
    open_items,
    quote_board,
    extra_reads: extraReads.map((read) => ({
      ...read,
      row_key: rowKeyOf({ key: ['account', 'submission_id', 'name'] }, { ...key, ...read }),
    })),
  }
}

/** Those of the account's own destinations, and whatever else has changes of it, with whether it needs a client there. */
function ofAccount(reached: readonly Reached[], account: string, configured: readonly DestinationConfig[]) {
  return reached.flatMap((each) => {
    const settings = configured.find(({ name, accounts }) => name === each.destination && accounts.includes(account))
    const has = each.delivered + each.waiting + each.unmapped + each.held + each.dead + each.unknown + each.skipped > 0
    return settings === undefined && !has ? [] : [{ ...each, mapping: settings?.mapping ?? null }]
  })
}

/** A row with its key. */
function keyed(entity: Pick<Entity, 'key'>, row: Row) {
  const readable = readableRow(row)
  return { row_key: rowKeyOf(entity, readable), ...readable }
}
