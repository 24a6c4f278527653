import type { ColumnTypes, Migration } from '../src/store/schema/migration.ts'

/**
 * The words of insureds' names, and the orders and filters of the list of submissions as indexes, so that a page of it costs the same whatever
 * the number of submissions.
 */
export const submissionSearch: Migration = {
  version: 34,
  name: 'submission-search',
  oldestCompatible: 1,
  statements: (t) => [...lock(t), ...words(t), ...orders(t), ...filters(t)],
}

/** Characters that end a word, beside the space. */
const SEPARATORS = '\t\n\r\u00a0!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~\u2013\u2014\u2018\u2019\u201c\u201d'
/** Characters of a name that are split into words, and of a word that are kept: a hostile name must not fill an index. */
const SPLIT_LENGTH = 1_000
export const WORD_LENGTH = 64
const ORDER_LENGTH = 200
/** Greater than any other text, by its bytes. */
export const LAST = '\u{10ffff}'

/**
 * The words of a name, or of what somebody looks for, as they are stored. Only A to Z are lowered: what else has two cases differs between the
 * databases, so it is looked for in both.
 */
export function wordsOf(text: string): string[] {
  const lowered = [...text]
    .slice(0, SPLIT_LENGTH)
    .join('')
    .replace(/[A-Z]/g, (letter) => letter.toLowerCase())
  const spaced = [...lowered].map((char) => (SEPARATORS.includes(char) ? ' ' : char)).join('')
  return [...new Set(spaced.split(' ').filter((word) => word !== ''))].map((word) => [...word].slice(0, WORD_LENGTH).join(''))
}

/** The keys of the list's orders, none of them null, as expressions of a row of `submissions`. */
export function orderKeys({ kind }: Pick<ColumnTypes, 'kind'>) {
  const isSqlite = kind === 'sqlite'
  return {
    moved: isSqlite
      ? `coalesce(nullif(max(coalesce(last_event_at, ''), coalesce(last_message_at, '')), ''), tracked_at)`
      : 'coalesce(greatest(last_event_at, last_message_at), tracked_at)',
    name: isSqlite
      ? `coalesce(lower(substr(insured_name, 1, ${ORDER_LENGTH})), '${LAST}')`
      : `coalesce(lower(left(insured_name, ${ORDER_LENGTH}) collate "C"), '${LAST}')`,
    effective_date: isSqlite ? `coalesce(effective_date, '9999-12-31')` : `coalesce(effective_date, date '9999-12-31')`,
  } as const
}

/** The name of a lane's market, as it is looked for. */
export function marketKey({ kind }: Pick<ColumnTypes, 'kind'>): string {
  return kind === 'sqlite' ? 'lower(market_name)' : 'lower(market_name collate "C")'
}

/** How far a lane is, the furthest first. A chip that nobody knows is on its way. */
export const CHIPS = ['bound', 'quoted', 'needs_info', 'in_progress', 'not_available'] as const

/** The place of a lane's chip among CHIPS. */
export function chipRank({ kind }: Pick<ColumnTypes, 'kind'>): string {
  const bound = kind === 'sqlite' ? 'bound = 1' : 'bound'
  return `(case when ${bound} or chip = 'bound' then 0 when chip = 'quoted' then 1 when chip = 'needs_info' then 2 when chip = 'not_available' then 4 else 3 end)`
}

/** All tables at once, before any work: a step that had to wait for one of them later would lose the work done so far. */
function lock({ kind }: ColumnTypes): string[] {
  return kind === 'postgres' ? ['lock table submissions, lanes in share row exclusive mode'] : []
}

function orders(t: ColumnTypes): string[] {
  return Object.entries(orderKeys(t)).map(
    ([name, key]) => `create index submissions_by_${name} on submissions (account, (${key}), submission_id)`,
  )
}

function filters(t: ColumnTypes): string[] {
  const lanes = { market: `(${marketKey(t)})`, status: 'status', chip: `(${chipRank(t)})` }
  return [
    'create index submissions_marketing on submissions (account, marketing_status, submission_id)',
    ...Object.entries(lanes).map(
      ([name, key]) => `create index lanes_by_${name} on lanes (account, ${key}, submission_id) where gone_at is null`,
    ),
  ]
}

/** Kept by triggers, so that every writer keeps them: the release before this one too, and a hand that deletes rows. */
function words(t: ColumnTypes): string[] {
  const collation = t.kind === 'postgres' ? ' collate "C"' : ''
  return [
    `create table sync_search_words (
      account text not null, submission_id text not null, word text${collation} not null,
      primary key (account, submission_id, word))`,
    ...(t.kind === 'sqlite' ? sqliteWords() : postgresWords()),
    'create index sync_search_words_word on sync_search_words (account, word, submission_id)',
  ]
}

const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`

function sqliteWords(): string[] {
  const split = (name: string) => {
    const lowered = `lower(substr(${name}, 1, ${SPLIT_LENGTH}))`
    const spaced = [...SEPARATORS].reduce((text, char) => `replace(${text}, ${charOf(char)}, ' ')`, lowered)
    // What anybody can store on SQLite in place of a text has no words.
    return `json_each(case when typeof(${name}) = 'text' then '[' || replace(json_quote(${spaced}), ' ', '","') || ']' else '[]' end)`
  }
  const into = 'insert or ignore into sync_search_words (account, submission_id, word)'
  const insert = `${into} select new.account, new.submission_id, substr(value, 1, ${WORD_LENGTH}) from ${split('new.insured_name')} where value <> ''`
  const remove = 'delete from sync_search_words where account = old.account and submission_id = old.submission_id'
  return [
    `${into} select s.account, s.submission_id, substr(w.value, 1, ${WORD_LENGTH}) from submissions s, ${split('s.insured_name')} w where w.value <> ''`,
    `create trigger submissions_words_insert after insert on submissions when new.insured_name is not null begin ${insert}; end`,
    `create trigger submissions_words_update after update of insured_name on submissions when new.insured_name is not old.insured_name begin
      ${remove}; ${insert}; end`,
    `create trigger submissions_words_delete after delete on submissions begin ${remove}; end`,
  ]
}

/** A character as an expression: control characters do not stand in the text of a schema. */
function charOf(char: string): string {
  return char < ' ' ? `char(${char.charCodeAt(0)})` : quoted(char)
}

function postgresWords(): string[] {
  const from = `${[...SEPARATORS].filter((char) => char < ' ').reduce((text, char) => `${text} || chr(${char.charCodeAt(0)})`, quoted([...SEPARATORS].filter((char) => char >= ' ').join('')))}`
  const split = (name: string) =>
    `unnest(string_to_array(translate(lower(left(${name}, ${SPLIT_LENGTH}) collate "C"), ${from}, repeat(' ', ${[...SEPARATORS].length})), ' '))`
  const insert = (account: string, id: string, name: string, source: string) =>
    `insert into sync_search_words (account, submission_id, word)
      select distinct ${account}, ${id}, left(word, ${WORD_LENGTH}) from ${source}${split(name)} as word where word <> '' on conflict do nothing`
  return [
    insert('s.account', 's.submission_id', 's.insured_name', 'submissions s, '),
    `create function submissions_words() returns trigger language plpgsql set search_path from current as $$ begin
      if tg_op <> 'INSERT' then
        delete from sync_search_words where account = old.account and submission_id = old.submission_id;
      end if;
      if tg_op <> 'DELETE' then
        ${insert('new.account', 'new.submission_id', 'new.insured_name', '')};
      end if;
      return null; end $$`,
    `create trigger submissions_words_insert after insert on submissions for each row when (new.insured_name is not null)
      execute function submissions_words()`,
    `create trigger submissions_words_update after update of insured_name on submissions for each row
      when (new.insured_name is distinct from old.insured_name) execute function submissions_words()`,
    'create trigger submissions_words_delete after delete on submissions for each row execute function submissions_words()',
  ]
}
