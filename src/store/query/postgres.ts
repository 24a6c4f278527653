import pg from 'pg'
import { UsageError } from '../../base/errors.ts'
import { NO_TABLES } from '../migrate/migrate.ts'
import { postgresError } from '../postgres/errors.ts'
import { PostgresServers } from '../postgres/servers.ts'
import { beginStatement } from '../postgres/session-settings.ts'
import { typeParsers } from '../postgres/types.ts'
import type { AnswerPart, QueryOrder } from './query.ts'
import { firstWordOf, WRITING, withNearTables } from './statement.ts'
import { jsonOf, numberOf } from './values.ts'

/**
 * SQLSTATEs that mean a fault in the user's statement: a syntax error, an unknown name, a write, or a statement that is
 * not allowed in a transaction or cursor.
 */
const REFUSED = /^(42(?!501)|0A000$|25006$)/
/** First words of statements that can't use a cursor. All rows of their answers come in one part. */
const WHOLE = ['explain', 'show', ...WRITING]

const [NUMERIC, INT8, INTERVAL] = [1700, 20, 1186]
/** Type ids of `timestamp`, and of arrays of `timestamp` and `timestamptz`. */
const TIMES = [1114, 1115, 1185]
const asWritten = (text: string) => text

/**
 * Parsers that give the same values as SQLite: a sum becomes a number, and a time stays text instead of
 * becoming a Date.
 */
const ours = new Map<number, (text: string) => unknown>([
  [NUMERIC, numberOf],
  [INT8, numberOf],
  ...[INTERVAL, ...TIMES].map((oid): [number, (text: string) => string] => [oid, asWritten]),
])
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    (format === 'binary' ? undefined : ours.get(oid)) ?? typeParsers.getTypeParser(oid, format)) as pg.CustomTypesConfig['getTypeParser'],
}

/**
 * Runs one statement in a read-only transaction. Names in the statement refer to the mirror's schema.
 * @param batch maximum number of rows in one part of the answer.
 * @throws UsageError with the server's message if the statement is invalid or writes. Other errors are
 * those of `postgresError`.
 */
export async function* readPostgres(
  { url, schema }: Extract<QueryOrder['database'], { kind: 'postgres' }>,
  sql: string,
  batch: number,
  timeoutMs: number,
): AsyncGenerator<AnswerPart> {
  const servers = new PostgresServers({ reveal: () => url })
  const client = await servers.open({ types, application_name: 'submission-mirror query' })
  try {
    await client.query(beginStatement(schema, 'read'))
    // If this process is killed, the server still stops the statement after `timeoutMs`.
    await client.query(`set local statement_timeout = ${timeoutMs}; set local idle_in_transaction_session_timeout = ${timeoutMs}`)
    const { rows } = await client.query<{ has_tables: boolean }>("select to_regclass('mirror_info') is not null as has_tables")
    if (rows[0]?.has_tables !== true) throw new UsageError([NO_TABLES])
    yield* WHOLE.includes(firstWordOf(sql, 'postgres') ?? '') ? whole(client, sql) : byCursor(client, sql, batch)
  } catch (error) {
    throw refusalOf(error) ?? postgresError(error)
  } finally {
    await client.end()
  }
}

async function* byCursor(client: pg.Client, sql: string, batch: number): AsyncGenerator<AnswerPart> {
  // For a cursor, Postgres normally plans to return the first rows fast. All rows are read here, so plan for all rows.
  await client.query('set local cursor_tuple_fraction = 1')
  await client.query(extended(`declare answer no scroll cursor for ${sql}`))
  for (let isFirst = true; ; isFirst = false) {
    const { fields, rows } = await client.query<unknown[]>({ text: `fetch ${batch} from answer`, rowMode: 'array' })
    if (isFirst) yield { columns: fields.map(({ name }) => name) }
    if (rows.length > 0) yield { rows: rows.map((row) => row.map(jsonOf)) }
    if (rows.length < batch) return
  }
}

async function* whole(client: pg.Client, sql: string): AsyncGenerator<AnswerPart> {
  const { fields, rows } = await client.query<unknown[]>(extended(sql))
  yield { columns: fields.map(({ name }) => name) }
  yield { rows: rows.map((row) => row.map(jsonOf)) }
}

/** Selects pg's extended protocol, which rejects a text that contains several statements. */
function extended(text: string): pg.QueryArrayConfig {
  const config: pg.QueryArrayConfig & { readonly queryMode: 'extended' } = { text, rowMode: 'array', queryMode: 'extended' }
  return config
}

function refusalOf(error: unknown): UsageError | null {
  if (!(error instanceof pg.DatabaseError) || !REFUSED.test(error.code ?? '')) return null
  return new UsageError([error.hint === undefined ? withNearTables(error.message) : `${error.message} (${error.hint})`])
}
