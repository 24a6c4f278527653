import Database, { type Statement } from 'better-sqlite3'
import { messageOf, UsageError } from '../../base/errors.ts'
import type { Json } from '../../model/json.ts'
import { NO_TABLES } from '../migrate/migrate.ts'
import { decoderOfColumn, type SqliteValue } from '../schema/codec.ts'
import { sqliteError } from '../sqlite/errors.ts'
import type { AnswerPart } from './query.ts'
import { withNearTables } from './statement.ts'
import { jsonOf } from './values.ts'

/** Maximum wait for a lock, in ms. The wait may block this process, which has no other work. */
const LOCK_WAIT_MS = 5_000

type Prepared = Statement<[], unknown[]>

/**
 * Runs one statement on a read-only connection. Booleans and JSON in the mirror's columns get the same values as on
 * Postgres. Computed values stay as SQLite returns them.
 * @param batch maximum number of rows in one part of the answer.
 * @throws UsageError if the statement is invalid or writes. Other errors are those of `sqliteError`.
 */
export function* readSqlite(path: string, sql: string, batch: number): Generator<AnswerPart> {
  let database: Database.Database | undefined
  try {
    database = new Database(path, { readonly: true, fileMustExist: true, timeout: LOCK_WAIT_MS })
    database.pragma('temp_store = memory')
    if (!database.prepare("select 1 from sqlite_master where name = 'mirror_info'").get()) throw new UsageError([NO_TABLES])
    const statement = prepare(database, sql)
    yield { columns: statement.columns().map(({ name }) => name) }
    yield* rowsOf(statement, batch)
  } catch (error) {
    throw sqliteError(error, path)
  } finally {
    database?.close()
  }
}

function prepare(database: Database.Database, sql: string): Prepared {
  let statement: Prepared
  try {
    statement = database.prepare<[], unknown[]>(sql)
  } catch (error) {
    // These errors mean that the text is invalid or contains several statements. All other errors are about the
    // database file.
    if (error instanceof RangeError || (error instanceof Database.SqliteError && error.code === 'SQLITE_ERROR'))
      throw new UsageError([withNearTables(messageOf(error))])
    throw error
  }
  if (!statement.readonly) throw new UsageError([refusalOf(statement)])
  if (!statement.reader) throw new UsageError(['the statement returns no rows'])
  return statement.raw().safeIntegers()
}

/**
 * Runs a statement that would write. SQLite rejects the statement, because the connection is read-only.
 * @returns the message of SQLite's error.
 */
function refusalOf(statement: Prepared): string {
  try {
    if (statement.reader) statement.get()
    else statement.run()
    return 'the statement would write, and the database is opened read-only'
  } catch (error) {
    return messageOf(error)
  }
}

function* rowsOf(statement: Prepared, batch: number): Generator<AnswerPart> {
  const decoders = statement.columns().map(({ table, column }) => decoderOfColumn(table, column))
  let rows: Json[][] = []
  for (const row of statement.iterate()) {
    rows.push(
      row.map((value, index) => {
        const decode = decoders[index]
        return decode ? decode(jsonOf(value) as SqliteValue) : jsonOf(value)
      }),
    )
    if (rows.length < batch) continue
    yield { rows }
    rows = []
  }
  if (rows.length > 0) yield { rows }
}
