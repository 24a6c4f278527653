import { type RawBuilder, sql } from 'kysely'
import { searchWords } from '../../model/search-words.ts'
import type { TimeText } from '../../model/time.ts'
import type { Query } from '../engine/db.ts'
import { countCapped } from '../engine/sql.ts'
import { LAST, marketKey } from '../schema/list-keys.ts'
import type { Columns } from '../schema/tables.ts'

/** Which submissions to list; missing fields match all. */
export interface SubmissionFilter {
  /** Word prefixes of the insured's name, the prefix of an id or of a market's name, or a lane status. */
  readonly search?: string | undefined
  /** Word prefixes of the insured's name, or an id prefix. */
  readonly named?: string | undefined
  /** Prefix of a market's name. */
  readonly market?: string | undefined
  /** The status of a lane. */
  readonly status?: string | undefined
  /** As in `submissions.stage`. */
  readonly stage?: string | undefined
}

/** A condition in two forms: `among` reads a few matching submissions by index; `test` checks submissions in list order. */
export interface Condition {
  /**
   * Index queries for an account. Each alone returns every matching submission at least once, and possibly others. Use the query with the
   * fewest rows.
   */
  readonly among: (account: string) => readonly RawBuilder<unknown>[]
  /** SQL test for row `s` of `submissions`. */
  readonly test: RawBuilder<unknown>
}

type Kind = Pick<Query, 'kind'>

/** The conditions of a filter; a submission must meet all. */
export function conditionsOf(q: Kind, { search, named, market, status, stage }: SubmissionFilter): Condition[] {
  return [
    ...(market === undefined ? [] : [byMarket(q, loweredAscii(market))]),
    ...(status === undefined ? [] : [byStatus(q, status)]),
    ...(stage === undefined ? [] : [byStage(stage)]),
    ...(search === undefined || search.trim() === '' ? [] : [bySearch(q, search.trim())]),
    ...(named === undefined ? [] : [byName(named.trim(), [])]),
  ]
}

/** @returns the query with the fewest rows; null if each has more than `most`, or none is given. */
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

/** A submission with a matching lane that is not gone. */
function byLane(q: Kind, key: RawBuilder<unknown>, is: (key: RawBuilder<unknown>) => RawBuilder<unknown>): Condition {
  const ofIt = sql`account = s.account and submission_id = s.submission_id`
  return {
    among: (account) => [sql`select submission_id from lanes where account = ${account} and ${is(key)} and gone_at is null`],
    test: any(sql`select 1 from lanes where ${ofIt} and ${is(plain(q, key, ''))} and gone_at is null`),
  }
}

/** `exists` in a form that Postgres doesn't turn into a join. The join would read and sort all submissions. */
function any(rows: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`((${rows} limit 1) is not null)`
}

/** Keeps the database from using the value's index. Many lanes may share a value, so lanes are found by submission. */
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

/** Matches insured's name or id. @param others alternatives. */
function byName(text: string, others: readonly Condition[]): Condition {
  const lowered = loweredAscii(text)
  const isId = /^[0-9a-f][0-9a-f-]{0,35}$/.test(lowered)
  const words = searchWords(text)
  const named = words.length === 0 ? [] : [byWords(words)]
  // A text with neither words nor characters of an id matches nothing.
  const conditions = [...others, ...(isId ? [byId(lowered)] : words.length === 0 ? [NONE] : [])]
  const tests = [...conditions, ...named].map(({ test }) => test)
  const union = (parts: readonly RawBuilder<unknown>[]) => sql`${sql.join(parts, sql` union all `)}`
  return {
    among: (account) => {
      const rest = conditions.flatMap(({ among }) => among(account))
      // Uses one word's index and tests the other words.
      const ways = named.flatMap(({ among }) => among(account)).map((way) => union([way, ...rest]))
      return ways.length > 0 ? ways : [union(rest)]
    },
    test: sql`(${sql.join(tests, sql` or `)})`,
  }
}

/** Matches an id prefix. In any collation, the rest of a uuid sorts before g. */
function byId(start: string): Condition {
  const is = sql`submission_id >= ${start} and submission_id < ${`${start}g`}`
  return {
    among: (account) => [sql`select submission_id from submissions where account = ${account} and ${is}`],
    test: sql`(s.submission_id >= ${start} and s.submission_id < ${`${start}g`})`,
  }
}

const NONE: Condition = { among: () => [sql`select submission_id from submissions where 1 = 0`], test: sql`(1 = 0)` }

/** Every given word must be the prefix of a word in the name. */
function byWords(words: readonly string[]): Condition {
  const has = (word: string) =>
    any(sql`select 1 from sync_search_words w
      where w.account = s.account and w.submission_id = s.submission_id and ${beginsWith(sql.ref('w.word'), word)}`)
  return {
    among: (account) =>
      words.map(
        (word) => sql`select submission_id from sync_search_words where account = ${account} and ${beginsWith(sql.ref('word'), word)}`,
      ),
    test: sql`(${sql.join(words.map(has), sql` and `)})`,
  }
}

/** Compares bytes, like the indexes. */
function beginsWith(text: RawBuilder<unknown>, start: string): RawBuilder<unknown> {
  return sql`${text} >= ${start} and ${text} < ${start + LAST}`
}

function loweredAscii(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase())
}

/** Which submissions without a client to list; missing fields match all. */
export interface UnmappedFilter {
  readonly destination: string
  readonly account?: string | undefined
  /** Like `SubmissionFilter.search`. */
  readonly search?: string | undefined
  /** Only submissions after this one. */
  readonly after?: { readonly account: string; readonly submissionId: string } | undefined
}

/** Submissions whose changes wait until an operator maps their AMS client, ordered by account and id. */
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
