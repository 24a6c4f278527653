import { sql } from 'kysely'
import type { Query } from '../engine/db.ts'

/** A missing field matches everything. */
export interface OpenWorkFilter {
  readonly account?: string | undefined
  readonly submissionId?: string | undefined
}

/** Where a page begins: after the first `skip` items of this submission. */
export interface OpenWorkPlace {
  readonly account: string
  readonly submissionId: string
  readonly skip: number
}

/** Number of submissions to read per step, and maximum number of submissions to read per page. */
const STEP = 25
const MOST_READ = 500

/** Open items of a submission: what the broker must still supply. @template T the selected columns. */
export async function openItemsOf<T>(q: Query, { account, submission_id }: Key): Promise<T[]> {
  return await q.all(sql<T>`
    select o.account, o.submission_id, s.insured_name, o.source, o.item_key, o.market_name, o.lane_id, o.label, o.how_to_provide,
      o.bind_request_id, o.bind_status
    from open_items o left join submissions s on s.account = o.account and s.submission_id = o.submission_id
    where o.account = ${account} and o.submission_id = ${submission_id}
    order by o.source desc, o.market_name, o.item_key, o.label`)
}

/**
 * Quotes of a submission that are not gone, lowest total first. Quotes without a total come last.
 * @template T the columns of `quote_board` that the caller uses.
 */
export async function quotesOf<T>(q: Query, { account, submission_id }: Key): Promise<T[]> {
  const rows = await q.all(sql<T & Flags>`
    select * from quote_board where account = ${account} and submission_id = ${submission_id}
    order by case when total_cents is null then 1 else 0 end, total_cents, lane_id, quote_id`)
  return rows.map((row) => ({ ...row, may_be_superseded: flag(row.may_be_superseded), is_bound_quote: flag(row.is_bound_quote) }))
}

/** null if unknown, as in the view `quote_board`. */
type Flags = Readonly<Record<'may_be_superseded' | 'is_bound_quote', boolean | null>>

/** SQLite returns a computed boolean of a view as 0 or 1. */
function flag(value: boolean | number | null): boolean | null {
  return value === null ? null : Boolean(value)
}

type Key = { readonly account: string; readonly submission_id: string }

/**
 * Reads a page of open items or quotes, submission by submission in key order. The full list is never sorted.
 * @param itemsOf `openItemsOf` or `quotesOf`.
 * @returns `next`: the position for the next page, null at the end. A page before the end may have fewer than `limit`
 * items, or no items.
 */
export async function listOpenWork<T>(
  q: Query,
  itemsOf: (q: Query, key: Key) => Promise<T[]>,
  filter: OpenWorkFilter,
  after: OpenWorkPlace | null,
  limit: number,
): Promise<{ items: T[]; next: OpenWorkPlace | null }> {
  const items: T[] = []
  let from = after
  for (let read = 0; read < MOST_READ; read += STEP) {
    const keys = await submissionsFrom(q, filter, from)
    const found = await Promise.all(keys.map((key) => itemsOf(q, key)))
    for (const [index, key] of keys.entries()) {
      const skip = from !== null && index === 0 && isAt(key, from) ? from.skip : 0
      const all = found[index] ?? []
      const shown = all.slice(skip, skip + limit - items.length)
      items.push(...shown)
      const end = skip + shown.length
      if (items.length === limit) return { items, next: { account: key.account, submissionId: key.submission_id, skip: end } }
    }
    const last = keys.at(-1)
    if (last === undefined || keys.length < STEP) return { items, next: null }
    // The next step begins at `last` and skips all its items.
    from = { account: last.account, submissionId: last.submission_id, skip: Number.MAX_SAFE_INTEGER }
  }
  return { items, next: from }
}

function isAt({ account, submission_id }: Key, place: OpenWorkPlace): boolean {
  return account === place.account && submission_id === place.submissionId
}

async function submissionsFrom(q: Query, { account, submissionId }: OpenWorkFilter, from: OpenWorkPlace | null): Promise<Key[]> {
  let query = q.sql.selectFrom('submissions').select(['account', 'submission_id'])
  if (account !== undefined) query = query.where('account', '=', account)
  if (submissionId !== undefined) query = query.where('submission_id', '=', submissionId)
  if (from !== null) query = query.where(sql<boolean>`(account, submission_id) >= (${from.account}, ${from.submissionId})`)
  return await query.orderBy('account').orderBy('submission_id').limit(STEP).execute()
}
