import { type RawBuilder, sql } from 'kysely'
import { orderKeys } from '../../../migrations/0034-submission-search.ts'
import type { Json } from '../../model/json.ts'
import type { Query } from '../engine/db.ts'
import { type Condition, conditionsOf, type SubmissionFilter } from './submission-search.ts'

/** What the list is ordered by; `-` for the greatest first. */
export const submissionOrders = ['-moved', 'moved', 'name', '-name', 'effective_date', '-effective_date'] as const
export type SubmissionOrder = (typeof submissionOrders)[number]

/** The place of a submission in a list. */
export interface SubmissionPlace {
  readonly account: string
  readonly submission_id: string
  /** The value of the order. */
  readonly key: string
}

/** Up to so many submissions of a condition are read by its index and sorted; of more the list is read in its order, and tested. */
const MOST_SORTED = 5_000

interface Page {
  readonly q: Query
  readonly key: RawBuilder<unknown>
  readonly type: RawBuilder<unknown>
  readonly isDescending: boolean
  readonly conditions: readonly Condition[]
  readonly after: SubmissionPlace | undefined
  readonly limit: number
}

/**
 * The places of a page of submissions, behind `after`. One that moves meanwhile changes its place, so that it may be met again or not at all; one
 * that stays is met once.
 * @param accounts all of which the list is.
 */
export async function listSubmissions(
  q: Query,
  accounts: readonly string[],
  filter: SubmissionFilter,
  { order, after, limit }: { readonly order: SubmissionOrder; readonly after?: SubmissionPlace | undefined; readonly limit: number },
): Promise<SubmissionPlace[]> {
  const name = order.replace('-', '') as keyof ReturnType<typeof orderKeys>
  const type = q.kind === 'sqlite' ? sql`` : sql.raw({ moved: '::timestamptz', name: '::text collate "C"', effective_date: '::date' }[name])
  const conditions = conditionsOf(q, filter)
  const page: Page = { q, key: sql.raw(orderKeys(q)[name]), type, isDescending: order.startsWith('-'), conditions, after, limit }
  const parts: RawBuilder<unknown>[] = []
  for (const account of accounts) parts.push(...(await partsOf(page, account)))
  if (parts.length === 0) return []
  const direction = page.isDescending ? sql`desc` : sql`asc`
  const { rows } = await sql<SubmissionPlace>`
    select account, submission_id, key from (${sql.join(
      parts.map((part) => sql`select * from (${part}) as part`),
      sql` union all `,
    )}) as parts
    order by key ${direction}, account ${direction}, submission_id ${direction} limit ${sql.lit(limit)}`.execute(q.sql)
  return rows
}

/** The statements that together give an account's part of the page. */
async function partsOf(page: Page, account: string): Promise<RawBuilder<unknown>[]> {
  const { after, isDescending } = page
  const { from, tests } = await sourceOf(page, account)
  const behind = isDescending ? sql`<` : sql`>`
  const part = (place: RawBuilder<unknown>[]) => statement(page, account, from, [...place, ...tests])
  if (after === undefined) return [part([])]
  const key = sql`${after.key}${page.type}`
  // Two steps into the index: rows of the same key behind this one, and all further keys.
  const further = part([sql`${page.key} ${behind} ${key}`])
  const isBehind = isDescending ? account < after.account : account > after.account
  if (account !== after.account && !isBehind) return [further]
  const same = account === after.account ? [sql`s.submission_id ${behind} ${after.submission_id}`] : []
  return [part([sql`${page.key} = ${key}`, ...same]), further]
}

function statement(page: Page, account: string, from: RawBuilder<unknown>, tests: readonly RawBuilder<unknown>[]): RawBuilder<unknown> {
  const direction = page.isDescending ? sql`desc` : sql`asc`
  return sql`select s.account, s.submission_id, ${page.key} as key from ${from}
    where ${sql.join([sql`s.account = ${account}`, ...tests], sql` and `)}
    order by ${page.key} ${direction}, s.submission_id ${direction} limit ${sql.lit(page.limit)}`
}

/** What to read: the submissions of the rarest condition, when they are few, else all of them. */
async function sourceOf({ q, conditions }: Page, account: string): Promise<{ from: RawBuilder<unknown>; tests: RawBuilder<unknown>[] }> {
  const tests = conditions.map(({ test }) => test)
  const ways = conditions.flatMap(({ among }) => among(account))
  const counts = await Promise.all(ways.map((way) => countUpTo(q, way)))
  const fewest = Math.min(...counts)
  const rarest = ways[counts.indexOf(fewest)]
  if (rarest === undefined || fewest > MOST_SORTED) return { from: sql`submissions s`, tests }
  // Left to itself, SQLite might read all submissions first.
  const few = sql`(select distinct submission_id from (${rarest}) as met) as few`
  return { from: sql`${few} cross join submissions s`, tests: [sql`s.submission_id = few.submission_id`, ...tests] }
}

async function countUpTo(q: Query, rows: RawBuilder<unknown>): Promise<number> {
  const { rows: found } = await sql<{ n: number }>`
    select count(*) as n from (select 1 from (${rows}) as each_one limit ${sql.lit(MOST_SORTED + 1)}) as counted`.execute(q.sql)
  return Number(found[0]?.n ?? 0)
}

/** The accounts of which there are submissions. */
export async function accountsWithSubmissions(q: Query): Promise<string[]> {
  const { rows } = await sql<{ account: string }>`
    with recursive known(account) as (
      select min(account) from submissions
      union all select (select min(account) from submissions where account > known.account) from known where known.account is not null)
    select account from known where account is not null order by account`.execute(q.sql)
  return rows.map(({ account }) => account)
}

/** The place of a cursor; null when the text is none. */
export function placeIn(text: string): SubmissionPlace | null {
  const value = partsIn(text, 3)
  return value === null ? null : { account: value[0] ?? '', submission_id: value[1] ?? '', key: value[2] ?? '' }
}

export function cursorOf({ account, submission_id, key }: SubmissionPlace): string {
  return Buffer.from(JSON.stringify([account, submission_id, key])).toString('base64url')
}

/** The texts in a cursor; null when there are not so many. */
export function partsIn(cursor: string, count: number): string[] | null {
  try {
    const value = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as Json
    if (!Array.isArray(value) || value.length !== count) return null
    return value.every((part) => typeof part === 'string' && !part.includes('\0')) ? (value as string[]) : null
  } catch {
    return null
  }
}
