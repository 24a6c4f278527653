import { type RawBuilder, sql } from 'kysely'
import { CHIPS, chipRank, LAST, marketKey, wordsOf } from '../../../migrations/0034-submission-search.ts'
import type { Query } from '../engine/db.ts'

/** Which submissions to list; fields left out do not narrow. */
export interface SubmissionFilter {
  /** Words with which words of the insured's name begin, the beginning of an id or of a market's name, or the status of a lane. */
  readonly search?: string | undefined
  /** The beginning of a market's name. */
  readonly market?: string | undefined
  /** The status of a lane. */
  readonly status?: string | undefined
  /** Where it stands; see `standsOf`. */
  readonly stands?: string | undefined
}

/**
 * One condition in two forms. A condition that few submissions meet is best read by its index, one that many meet is best tested on submissions
 * in the order of the list.
 */
export interface Condition {
  /** The submissions of an account that meet it, by an index: each at least once, and possibly others. */
  readonly among: (account: string) => RawBuilder<unknown>
  /** Whether the row `s` of `submissions` meets it. */
  readonly test: RawBuilder<unknown>
}

/** Letters with two cases beyond A to Z in one word, of which all forms are looked for. */
const MOST_FORMS = 4

type Kind = Pick<Query, 'kind'>

const UNREACHABLE = 'unreachable'

/** The conditions of a filter, all of which a submission must meet. */
export function conditionsOf(q: Kind, { search, market, status, stands }: SubmissionFilter): Condition[] {
  return [
    ...(market === undefined ? [] : [byLane(beginsWith(sql.raw(marketKey(q)), loweredAscii(market)))]),
    ...(status === undefined ? [] : [byLane(sql`status = ${status}`)]),
    ...(stands === undefined ? [] : [byStand(q, stands)]),
    ...(search === undefined || search.trim() === '' ? [] : [bySearch(q, search.trim())]),
  ]
}

/** A submission that has a lane of that kind, which is not gone. */
function byLane(is: RawBuilder<unknown>): Condition {
  return {
    among: (account) => sql`select submission_id from lanes where account = ${account} and ${is} and gone_at is null`,
    test: sql`exists (select 1 from lanes where account = s.account and submission_id = s.submission_id and ${is} and gone_at is null)`,
  }
}

/** Where a submission stands; the same as `standsOf` says of its row and its lanes. */
function byStand(q: Kind, stands: string): Condition {
  const ofIt = sql`from lanes x where x.account = s.account and x.submission_id = s.submission_id and x.gone_at is null`
  const rank = (CHIPS as readonly string[]).indexOf(stands)
  const key = sql.raw(chipRank(q))
  if (rank >= 0) {
    return {
      among: (account) => sql`select submission_id from lanes where account = ${account} and ${key} = ${sql.lit(rank)} and gone_at is null`,
      test: sql`(s.unreachable_since is null and (select min(${key}) ${ofIt}) = ${sql.lit(rank)})`,
    }
  }
  if (stands === UNREACHABLE) {
    return {
      among: (account) => sql`select submission_id from submissions where account = ${account} and unreachable_since is not null`,
      test: sql`s.unreachable_since is not null`,
    }
  }
  const marketing = stands === 'unknown' ? sql`marketing_status is null` : sql`marketing_status = ${stands}`
  return {
    among: (account) => sql`select submission_id from submissions where account = ${account} and ${marketing}`,
    test: sql`(s.unreachable_since is null and s.${marketing} and not exists (select 1 ${ofIt}))`,
  }
}

function bySearch(q: Kind, text: string): Condition {
  const lowered = loweredAscii(text)
  const conditions = [byLane(beginsWith(sql.raw(marketKey(q)), lowered)), byLane(sql`status = ${lowered.replaceAll(' ', '_')}`)]
  if (/^[0-9a-f][0-9a-f-]{0,35}$/.test(lowered)) conditions.push(byId(lowered))
  const words = wordsOf(text)
  if (words.length > 0) conditions.push(byWords(words))
  return {
    among: (account) =>
      sql.join(
        conditions.map((each) => each.among(account)),
        sql` union all `,
      ),
    test: sql`(${sql.join(
      conditions.map(({ test }) => test),
      sql` or `,
    )})`,
  }
}

/** An id that begins so. Whatever the collation, what follows in a uuid comes before a g. */
function byId(start: string): Condition {
  const is = sql`submission_id >= ${start} and submission_id < ${`${start}g`}`
  return {
    among: (account) => sql`select submission_id from submissions where account = ${account} and ${is}`,
    test: sql`(s.submission_id >= ${start} and s.submission_id < ${`${start}g`})`,
  }
}

/** A name in which for each of the words one begins so. */
function byWords(words: readonly string[]): Condition {
  const [longest = '', ...others] = [...words].sort((a, b) => b.length - a.length)
  const has = (row: string, word: string) =>
    sql`exists (select 1 from sync_search_words w where w.account = ${sql.ref(`${row}.account`)}
      and w.submission_id = ${sql.ref(`${row}.submission_id`)} and ${anyForm('w', word)})`
  const all = (row: string, of: readonly string[]) => sql.join([sql`1 = 1`, ...of.map((word) => has(row, word))], sql` and `)
  const first = (account: string, form: string) =>
    sql`select f.submission_id from sync_search_words f
      where f.account = ${account} and ${beginsWith(sql.ref('f.word'), form)} and ${all('f', others)}`
  return {
    among: (account) =>
      sql.join(
        formsOf(longest).map((form) => first(account, form)),
        sql` union all `,
      ),
    test: sql`(${all('s', words)})`,
  }
}

function anyForm(row: string, word: string): RawBuilder<unknown> {
  const is = formsOf(word).map((form) => beginsWith(sql.ref(`${row}.word`), form))
  return sql`(${sql.join(is, sql` or `)})`
}

/** A word with each of its letters beyond A to Z in both cases, as a name may have it. */
function formsOf(word: string): string[] {
  const both = (char: string) => [...new Set([char.toLowerCase(), char.toUpperCase()])].filter((form) => [...form].length === 1)
  const isOther = (char: string) => char > '\u007f' && both(char).length > 1
  if ([...word].filter(isOther).length > MOST_FORMS) {
    return [...new Set([word, word.toLowerCase(), loweredAscii(word.toUpperCase())])]
  }
  return [...word].reduce<string[]>(
    (forms, char) => (isOther(char) ? forms.flatMap((form) => both(char).map((one) => form + one)) : forms.map((form) => form + char)),
    [''],
  )
}

/** By the bytes of the text: that is the order of the indexes. */
function beginsWith(text: RawBuilder<unknown>, start: string): RawBuilder<unknown> {
  return sql`${text} >= ${start} and ${text} < ${start + LAST}`
}

function loweredAscii(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase())
}
