import { UsageError } from '../../base/errors.ts'
import { nearNames } from '../../base/near-names.ts'
import type { Query } from '../engine/db.ts'
import { relations } from '../schema/tables.ts'

/** First words of statements that only read. An error message lists these words. */
const READING = ['select', 'with', 'values', 'table', 'explain', 'show']
/**
 * First words of statements that write to this database. `refuseUnsuitable` accepts these words. The database then
 * rejects the write with a more exact message.
 */
export const WRITING = ['insert', 'update', 'delete', 'merge', 'replace', 'create', 'alter', 'drop', 'truncate']
/**
 * First words of statements that may write outside this database, change the session, or end the transaction.
 * `refuseUnsuitable` rejects these statements.
 */
const ELSEWHERE = new Set(
  'analyze attach begin call checkpoint close cluster comment commit copy deallocate declare detach discard do end execute fetch grant import listen load lock move notify pragma prepare reassign refresh reindex release reset revoke rollback savepoint security set start unlisten vacuum'.split(
    ' ',
  ),
)
const INTERNAL = /^sync_/i
/**
 * Names of functions that run SQL from a string, read a table named in a string, or access files or other databases.
 */
const REACHING =
  /^(?:(?:query|table|cursor|schema|database)_to_xml|dblink|ts_stat$|ts_rewrite$|lo_(?:get|open|export|import|from_bytea|put|creat)|pg_(?:read|ls|stat_file)|load_extension$)/i

/**
 * Patterns of SQL comments. Names inside a comment are ignored. A comment inside a comment is rejected, because only
 * Postgres allows it.
 */
const PASSED_OVER = [String.raw`--[^\n]*`, String.raw`\/\*[\s\S]*?(?:\*\/|$)`]
const STRING = "'(?:[^']|'')*'"
/**
 * Pattern of a string that may be the name of an internal table. Where SQL allows only a name, SQLite reads a string as
 * a name.
 */
const STRING_NAME = "'(?<string>sync_(?:[^']|'')*)'"
/** Pattern of a quoted name with escapes, which may hide the real name. */
const ESCAPED_NAME = '[uU]&"(?<escaped>(?:[^"]|"")*)"'
const NAMES = ['"(?<quoted>(?:[^"]|"")*)"', String.raw`(?<word>[\p{L}_][\p{L}\p{N}_$]*)`]

const PARTS: Readonly<Record<Query['kind'], RegExp>> = {
  sqlite: new RegExp(
    [...PASSED_OVER, STRING_NAME, STRING, '`(?<ticked>[^`]*)`', String.raw`\[(?<bracketed>[^\]]*)\]`, ...NAMES].join('|'),
    'giu',
  ),
  postgres: new RegExp(
    [
      ...PASSED_OVER,
      String.raw`[eE]'(?:\\[\s\S]|''|[^'\\])*'`,
      STRING,
      String.raw`\$(?<tag>\w*)\$[\s\S]*?\$\k<tag>\$`,
      ESCAPED_NAME,
      ...NAMES,
    ].join('|'),
    'gu',
  ),
}

/**
 * Rejects a statement that names an internal table, or that does more than read or write this database's tables. The
 * check guards against mistakes, not attacks: a person with a terminal can read the database in other ways. Writes fail
 * later, because the database runs the statement read-only.
 * @throws UsageError if the statement is rejected.
 */
export function refuseUnsuitable(text: string, kind: Query['kind']): void {
  const first = firstWordOf(text, kind)
  if (first === undefined) throw new UsageError(['the text contains no SQL statement'])
  if (ELSEWHERE.has(first)) throw new UsageError([`"${first}" is not a read-only statement. Begin with ${READING.join(', ')}.`])
  const parts = [...text.matchAll(PARTS[kind])]
  if (parts.some(({ groups }) => groups?.['escaped'] !== undefined))
    throw new UsageError(['query takes no names with escapes (U&"…"). Write the name as it is.'])
  if (parts.some(([part]) => part.startsWith('/*') && part.includes('/*', 2)))
    throw new UsageError(['query takes no comment inside a comment. Remove the inner one.'])
  const names = namesIn(text, kind)
  const reaching = names.find((name) => REACHING.test(name))
  if (reaching !== undefined)
    throw new UsageError([`query does not allow ${reaching}, because it can read more than the public tables and views.`])
  const internal = names.find((name) => INTERNAL.test(name))
  if (internal === undefined) return
  throw new UsageError([`${internal} is internal; the public tables and views are described in migrations/README.md`])
}

/**
 * @returns the statement's first word in lower case, without comments and brackets before it. Undefined if there
 * is no word.
 */
export function firstWordOf(text: string, kind: Query['kind']): string | undefined {
  return namesIn(text, kind)[0]?.toLowerCase()
}

/** @returns the words and the quoted names of the text, in order. */
function namesIn(text: string, kind: Query['kind']): string[] {
  return [...text.matchAll(PARTS[kind])].flatMap(({ groups = {} }) => {
    const { word, quoted, ticked, bracketed, string } = groups
    return word ?? quoted ?? ticked ?? bracketed ?? string ?? []
  })
}

const NO_TABLE = /^no such table: (?:main\.)?(?<sqlite>.+)$|^relation "(?:[^"]*\.)?(?<postgres>[^".]+)" does not exist$/

/** @returns the database's message. If it says that a table is unknown, the result also suggests tables and views. */
export function withNearTables(message: string): string {
  const { sqlite, postgres } = NO_TABLE.exec(message)?.groups ?? {}
  const name = sqlite ?? postgres
  if (name === undefined) return message
  const names = relations.map((each) => each.name)
  const near = nearNames(name.toLowerCase(), names)
  const containing = names.filter((each) => each.includes(name.toLowerCase()))
  const meant = near.length > 0 ? near : containing
  return `${message}; ${meant.length > 0 ? `did you mean ${meant.join(' or ')}?` : 'migrations/README.md describes all tables and views'}`
}
