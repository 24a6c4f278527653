import { type RawBuilder, sql } from 'kysely'
import { UsageError } from '../../base/errors.ts'
import { parseDate, parseTime } from '../../model/time.ts'
import type { Query } from '../engine/db.ts'
import { countCapped, distinctIn } from '../engine/sql.ts'
import { computedKeys, orderKeys } from '../schema/list-keys.ts'
import { type Condition, conditionsOf, rarestOf, type SubmissionFilter } from './submission-search.ts'

/** Sort orders; `-` means descending. The computed orders in the second line have no index (see `MOST_SORTED`). */
export const submissionOrders = [
  ...(['-moved', 'moved', 'name', '-name', 'effective_date', '-effective_date'] as const),
  ...(['stage', '-stage', 'lowest_quote', '-lowest_quote', 'outstanding', '-outstanding'] as const),
] as const
export type SubmissionOrder = (typeof submissionOrders)[number]

/** Position of a submission in a list. */
export interface SubmissionPlace {
  readonly account: string
  readonly submission_id: string
  /** Value of the sort key, as text. */
  readonly key: string
}

/**
 * Maximum submissions to sort.
 * If at most this many submissions of an account match a condition, the query finds and sorts the matching submissions.
 * If more submissions match, the query reads all submissions in list order and tests each submission. For a computed
 * order, which has no index, `listSubmissions` throws instead.
 */
const MOST_SORTED = 5_000

export interface ListOptions {
  readonly order: SubmissionOrder
  readonly after?: SubmissionPlace | undefined
  readonly limit: number
  /** For tests: replaces `MOST_SORTED`. */
  readonly mostSorted?: number
}

interface Page {
  readonly order: SubmissionOrder
  readonly mostSorted: number
  readonly q: Query
  readonly key: RawBuilder<unknown>
  /** SQL that casts the text of a key to the type of the sort key. */
  readonly type: RawBuilder<unknown>
  readonly isDescending: boolean
  readonly conditions: readonly Condition[]
  readonly after: SubmissionPlace | undefined
  readonly limit: number
}

/**
 * Reads a page of submissions.
 * A submission that moves between two page reads may appear twice or not at all.
 * @param accounts the accounts whose submissions are listed.
 * @returns account, id, and sort key of each submission on the page.
 * @throws UsageError if too many submissions match to sort them by a computed order.
 */
export async function listSubmissions(
  q: Query,
  accounts: readonly string[],
  filter: SubmissionFilter,
  { order, after, limit, mostSorted = MOST_SORTED }: ListOptions,
): Promise<SubmissionPlace[]> {
  const name = order.replace('-', '') as keyof ReturnType<typeof keysOf>
  const type = sql.raw((q.kind === 'sqlite' ? SQLITE_TYPES : POSTGRES_TYPES)[name] ?? '')
  const conditions = conditionsOf(q, filter)
  const isDescending = order.startsWith('-')
  const key = sql.raw(keysOf(q, isDescending)[name])
  const page: Page = { q, order, key, type, isDescending, conditions, after, limit, mostSorted }
  const parts: RawBuilder<unknown>[] = []
  for (const account of accounts) parts.push(...(await partsOf(page, account)))
  if (parts.length === 0) return []
  const direction = page.isDescending ? sql`desc` : sql`asc`
  const all = parts.map((part) => sql`select * from (${part}) as part`)
  const rows = await q.all(sql<Omit<SubmissionPlace, 'key'> & { readonly key: string | number }>`
    select account, submission_id, key from (${sql.join(all, sql` union all `)}) as parts
    order by key ${direction}, account ${direction}, submission_id ${direction} limit ${sql.lit(limit)}`)
  return rows.map((row) => ({ ...row, key: String(row.key) }))
}

const POSTGRES_TYPES: Readonly<Record<string, string>> = {
  moved: '::timestamptz',
  name: '::text collate "C"',
  effective_date: '::date',
  stage: '::bigint',
  lowest_quote: '::bigint',
  outstanding: '::bigint',
}
const SQLITE_TYPES: Readonly<Record<string, string>> = { stage: ' + 0', lowest_quote: ' + 0', outstanding: ' + 0' }

/** SQL of the sort keys. In an order by lowest quote, submissions without a quote always come last. */
function keysOf(q: Query, isDescending: boolean) {
  return { ...orderKeys(q), ...computedKeys(q, isDescending ? -1 : Number.MAX_SAFE_INTEGER) }
}

function isComputed(order: SubmissionOrder): boolean {
  return /stage|lowest_quote|outstanding/.test(order)
}

/** SQL statements that together return the account's submissions for the page. */
async function partsOf(page: Page, account: string): Promise<RawBuilder<unknown>[]> {
  const { after, isDescending } = page
  const few = await fewOf(page, account)
  const behind = isDescending ? sql`<` : sql`>`
  const part = (...place: RawBuilder<unknown>[]) => statement(page, account, few, place)
  if (after === undefined) return [part()]
  const key = sql`${after.key}${page.type}`
  // Two index ranges: rows after the position with the same sort key, and all rows with a later sort key.
  const further = part(sql`${page.key} ${behind} ${key}`)
  const isBehind = isDescending ? account < after.account : account > after.account
  if (account !== after.account && !isBehind) return [further]
  const same = account === after.account ? [sql`s.submission_id ${behind} ${after.submission_id}`] : []
  return [part(sql`${page.key} = ${key}`, ...same), further]
}

/**
 * SQL statement for one part of the page.
 * @param few the result of `fewOf`: the submissions to examine; null: all submissions of the account, in list order.
 */
function statement(
  page: Page,
  account: string,
  few: RawBuilder<unknown> | null,
  place: readonly RawBuilder<unknown>[],
): RawBuilder<unknown> {
  const direction = page.isDescending ? sql`desc` : sql`asc`
  const tests = sql.join([sql`s.account = ${account}`, ...place, ...page.conditions.map(({ test }) => test)], sql` and `)
  const columns = sql`s.account, s.submission_id, ${page.key} as key`
  const end = sql`order by key ${direction}, found.submission_id ${direction} limit ${sql.lit(page.limit)}`
  if (few === null)
    return sql`select ${columns} from submissions s where ${tests} order by ${page.key} ${direction}, s.submission_id ${direction}
      limit ${sql.lit(page.limit)}`
  return sql`select found.* from ${fewWith(page.q, few, columns, tests)} ${end}`
}

/**
 * SQL of table `found`: rows of the submissions in `few` that pass the tests.
 * In this form, both databases read `few` first. Otherwise, SQLite might begin with all submissions, and Postgres might
 * scan all submissions in list order.
 */
function fewWith(q: Query, few: RawBuilder<unknown>, columns: RawBuilder<unknown>, tests: RawBuilder<unknown>): RawBuilder<unknown> {
  const rows = sql`submissions s where s.submission_id = few.submission_id and ${tests}`
  return q.kind === 'sqlite'
    ? sql`(select ${columns} from ${few} cross join ${rows}) as found`
    : sql`${few} cross join lateral (select ${columns} from ${rows} offset 0) as found`
}

/**
 * SQL of table `few`: the submissions that match the rarest condition. For a computed order, adds a condition that all
 * submissions of the account match. An account with few submissions then needs no filter.
 * @returns null if there is no condition, or if too many submissions match to sort them.
 * @throws UsageError if too many submissions match and the order is computed.
 */
async function fewOf({ q, order, conditions, mostSorted }: Page, account: string): Promise<RawBuilder<unknown> | null> {
  const all = isComputed(order) ? [sql`select submission_id from submissions where account = ${account}`] : []
  const ways = [...conditions.flatMap(({ among }) => among(account)), ...all]
  const rarest = await rarestOf(q, ways, mostSorted)
  if (rarest === null && isComputed(order))
    throw new UsageError([
      `sort: more than ${mostSorted} submissions cannot be sorted by ${order.replace('-', '')}. Narrow the list first, for example by stage.`,
    ])
  return rarest && sql`(select distinct submission_id from (${rarest}) as met) as few`
}

/**
 * Counts submissions of a stage, up to `most`.
 * @param accounts the accounts whose submissions are counted.
 * @returns the count; `is_complete` is false if there are more than `most` submissions.
 */
export async function countSubmissions(
  q: Query,
  accounts: readonly string[],
  stage: string,
  most: number,
): Promise<{ count: number; is_complete: boolean }> {
  let count = 0
  for (const account of accounts) count += await countCapped(q, sql`submissions where account = ${account} and stage = ${stage}`, most + 1)
  return { count: Math.min(count, most), is_complete: count <= most }
}

export async function accountsWithSubmissions(q: Query): Promise<string[]> {
  const rows = await q.all(sql<{ account: string }>`
    select value as account from ${distinctIn('submissions', 'account')} as known order by value`)
  return rows.map(({ account }) => account)
}

/**
 * True if the key of a position is valid for the order.
 * On SQLite, times and dates are stored as text, so every text is a valid time or date.
 */
export function isPlaceIn({ kind }: Query, order: SubmissionOrder, { key }: SubmissionPlace): boolean {
  if (isComputed(order)) return /^-?\d{1,16}$/.test(key)
  if (kind === 'sqlite' || order.endsWith('name')) return true
  return (order.endsWith('moved') ? parseTime(key) : parseDate(key)) !== null
}
