import { type RawBuilder, sql } from 'kysely'
import { searchWords } from '../../model/search-words.ts'
import type { TimeText } from '../../model/time.ts'
import type { Query } from '../engine/db.ts'
import { countCapped } from '../engine/sql.ts'
import { LAST, marketKey } from '../schema/list-keys.ts'
import type { Columns } from '../schema/tables.ts'

/** Filters for submissions. A missing field matches all submissions. */
export interface SubmissionFilter {
  /** Word beginnings of the insured's name, the beginning of an id or of a market's name, or a lane status. */
  readonly search?: string | undefined
  /** Word beginnings of the insured's name, or the beginning of an id. */
  readonly named?: string | undefined
  /** Beginning of a market's name. */
  readonly market?: string | undefined
  /** Status of a lane. */
  readonly status?: string | undefined
  /** Stage, as in `submissions.stage`. */
  readonly stage?: string | undefined
}

/**
 * A condition on submissions, in two forms. If few submissions match, `among` finds them by index.
 * Otherwise, a query reads the whole list in order and checks each submission with `test`.
 */
export interface Condition {
  /**
   * SQL queries that find an account's submissions by index.
   * Each query alone returns all matching submissions, and possibly other submissions or duplicates. Use the query with
   * the fewest rows, then check the submissions with `test`.
   */
  readonly among: (account: string) => readonly RawBuilder<unknown>[]
  /** SQL condition on row `s` of `submissions`. */
  readonly test: RawBuilder<unknown>
}

type Kind = Pick<Query, 'kind'>

/** Conditions of a filter. A submission must meet all conditions. */
export function conditionsOf(q: Kind, { search, named, market, status, stage }: SubmissionFilter): Condition[] {
  return [
    ...(market === undefined ? [] : [byMarket(q, loweredAscii(market))]),
    ...(status === undefined ? [] : [byStatus(q, status)]),
    ...(stage === undefined ? [] : [byStage(stage)]),
    ...(search === undefined || search.trim() === '' ? [] : [bySearch(q, search.trim())]),
    ...(named === undefined ? [] : [byName(named.trim(), [])]),
  ]
}

/**
 * Counts the rows of each query, up to `most` + 1.
 * @returns the query with the fewest rows; null if each query has more than `most` rows, or if `ways` is empty.
 */
export async function rarestOf(q: Query, ways: readonly RawBuilder<unknown>[], most: number): Promise<RawBuilder<unknown> | null> {
  const counts = await Promise.all(ways.map((way) => countCapped(q, sql`(${way}) as way`, most + 1)))
  const fewest = Math.min(...counts)
  return fewest > most ? null : (ways[counts.indexOf(fewest)] ?? null)
}

function byMarket(q: Kind, start: string): Condition {
  return byLane(q, sql.raw(marketKey(q)), (key) => beginsWith(key, start))
}

function byStatus(q: Kind, status: string): Condition {
  return byLane(q, sql.ref('status'), (key) => sql`${key} = ${status}`)
}

/** Matches submissions with a lane that meets a condition and isn't gone. */
function byLane(q: Kind, key: RawBuilder<unknown>, is: (key: RawBuilder<unknown>) => RawBuilder<unknown>): Condition {
  const ofIt = sql`account = s.account and submission_id = s.submission_id`
  return {
    among: (account) => [sql`select submission_id from lanes where account = ${account} and ${is(key)} and gone_at is null`],
    test: someRow(sql`select 1 from lanes where ${ofIt} and ${is(plain(q, key, ''))} and gone_at is null`),
  }
}

/** SQL: `exists`, in a form that Postgres doesn't turn into a join. A join would read and sort all submissions. */
export function someRow(rows: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`((${rows} limit 1) is not null)`
}

/**
 * SQL of `key`, in a form that prevents the use of an index on `key`.
 * Many lanes may have the same value, so finding the lanes by submission is faster.
 * @param none the neutral value of the key's type: `''` for text, 0 for numbers.
 */
function plain(q: Kind, key: RawBuilder<unknown>, none: '' | 0): RawBuilder<unknown> {
  if (q.kind === 'sqlite') return sql`+${key}`
  return none === '' ? sql`(${key} || '')` : sql`(${key} + 0)`
}

function byStage(stage: string): Condition {
  return {
    among: (account) => [sql`select submission_id from submissions where account = ${account} and stage = ${stage}`],
    test: sql`s.stage = ${stage}`,
  }
}

function bySearch(q: Kind, text: string): Condition {
  const lowered = loweredAscii(text)
  return byName(text, [byMarket(q, lowered), byStatus(q, lowered.replaceAll(' ', '_'))])
}

/** Matches the insured's name, the submission id, or one of `others`. */
function byName(text: string, others: readonly Condition[]): Condition {
  const lowered = loweredAscii(text)
  const isId = /^[0-9a-f][0-9a-f-]{0,35}$/.test(lowered)
  const words = searchWords(text)
  const named = words.length === 0 ? [] : [byWords(words)]
  // If the text has no words and can't be an id, no submission matches.
  const conditions = [...others, ...(isId ? [byId(lowered)] : words.length === 0 ? [NONE] : [])]
  const tests = [...conditions, ...named].map(({ test }) => test)
  const union = (parts: readonly RawBuilder<unknown>[]) => sql`${sql.join(parts, sql` union all `)}`
  return {
    among: (account) => {
      const rest = conditions.flatMap(({ among }) => among(account))
      // Each query uses the index for one word. `test` checks the other words.
      const ways = named.flatMap(({ among }) => among(account)).map((way) => union([way, ...rest]))
      return ways.length > 0 ? ways : [union(rest)]
    },
    test: sql`(${sql.join(tests, sql` or `)})`,
  }
}

/** Matches the beginning of a submission id, a UUID. In every collation, all characters of a UUID sort before `g`. */
function byId(start: string): Condition {
  const is = sql`submission_id >= ${start} and submission_id < ${`${start}g`}`
  return {
    among: (account) => [sql`select submission_id from submissions where account = ${account} and ${is}`],
    test: sql`(s.submission_id >= ${start} and s.submission_id < ${`${start}g`})`,
  }
}

const NONE: Condition = { among: () => [sql`select submission_id from submissions where 1 = 0`], test: sql`(1 = 0)` }

/** Matches the insured's name: each word of `words` must be the beginning of a word in the name. */
function byWords(words: readonly string[]): Condition {
  const has = (word: string) =>
    someRow(sql`select 1 from sync_search_words w
      where w.account = s.account and w.submission_id = s.submission_id and ${beginsWith(sql.ref('w.word'), word)}`)
  return {
    among: (account) =>
      words.map(
        (word) => sql`select submission_id from sync_search_words where account = ${account} and ${beginsWith(sql.ref('word'), word)}`,
      ),
    test: sql`(${sql.join(words.map(has), sql` and `)})`,
  }
}

/** SQL condition: `text` begins with `start`. Compares bytes, like the indexes. */
function beginsWith(text: RawBuilder<unknown>, start: string): RawBuilder<unknown> {
  return sql`${text} >= ${start} and ${text} < ${start + LAST}`
}

function loweredAscii(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase())
}

/** Filters for submissions without an AMS client. A missing field matches all submissions. */
export interface UnmappedFilter {
  readonly destination: string
  readonly account?: string | undefined
  /** See `SubmissionFilter.search`. */
  readonly search?: string | undefined
  /** Only submissions that come after this submission in the list. */
  readonly after?: { readonly account: string; readonly submissionId: string } | undefined
}

/** Lists submissions whose changes wait for a mapping to an AMS client, ordered by account and id. */
export async function listUnmapped(q: Query, { destination, account, search, after }: UnmappedFilter, limit: number) {
  const conditions = [sql`l.destination = ${destination}`, sql`l.blocked = 'unmapped'`]
  if (account !== undefined) conditions.push(sql`l.account = ${account}`)
  if (after !== undefined) conditions.push(sql`(l.account, l.stream) > (${after.account}, ${after.submissionId})`)
  const tests = conditionsOf(q, { search }).map(({ test }) => test)
  const ofStream = sql`o.destination = found.destination and o.account = found.account and o.stream = found.stream and o.state = 'ready'`
  return await q.all(sql<
    Columns<'submission_overview', 'account' | 'submission_id' | 'insured_name'> & { changes: number; since: TimeText | null }
  >`
    select found.account, found.stream as submission_id, found.insured_name,
      (select count(*) from sync_outbox o where ${ofStream}) as changes,
      (select o.queued_at from sync_outbox o where ${ofStream} order by o.outbox_id limit 1) as since
    from (
      select l.destination, l.account, l.stream, s.insured_name from sync_push_streams l
      left join submissions s on s.account = l.account and s.submission_id = l.stream
      where ${sql.join([...conditions, ...tests], sql` and `)}
      order by l.account, l.stream limit ${sql.lit(limit)}) as found
    order by found.account, found.stream`)
}
