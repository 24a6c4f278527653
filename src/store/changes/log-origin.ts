import { type BigIntStats, statSync } from 'node:fs'
import { type RawBuilder, sql } from 'kysely'
import { askServer, UNKNOWN } from '../engine/checked-server.ts'
import type { Db, Query } from '../engine/db.ts'
import { sqlStateOf } from '../postgres/errors.ts'

/**
 * The origin of a log epoch: the very database in which it began. `origin` tells a copy that was made with tools that know of it (a restored
 * Postgres table has a new oid; on SQLite `backup` marks the copy). `server` tells what such tools cannot: on Postgres the system identifier
 * and the timeline, on SQLite the file.
 */

/** Values of `sync_log_epochs.origin` on SQLite: a database in use, and a backup until it is restored. */
const SQLITE_ORIGIN = 'here'
export const COPY_ORIGIN = 'copy'

/** The log of writes is named after the timeline, from the moment of a promotion on. `pg_control_checkpoint` lags behind it. */
const TIMELINE = sql<string>`substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8)`

/** How a server can be asked, the best way first: a managed service, or whoever took away rights, may refuse the functions. */
const WAYS: readonly RawBuilder<string>[] = [
  sql<string>`(select system_identifier::text from pg_control_system()) || '/' || ${TIMELINE}`,
  sql<string>`'${sql.raw(UNKNOWN)}/' || ${TIMELINE}`,
  sql<string>`'${sql.raw(`${UNKNOWN}/${UNKNOWN}`)}'`,
]

/** SQLSTATEs of a function that does not exist, is not allowed, or is not supported. */
const REFUSED = ['42883', '42501', '0A000']

/** Finds out once how a Postgres server can be asked. @throws TransientError when the database is away. */
export async function learnServer(db: Db): Promise<void> {
  if (db.kind === 'sqlite' || db.seen.serverExpression !== undefined) return
  for (const way of WAYS) {
    try {
      await sql`select ${way} as server`.execute(db.read.sql)
      db.seen.serverExpression = way
      return
    } catch (error) {
      if (!REFUSED.includes(sqlStateOf(error) ?? '')) throw error
    }
  }
}

/** The server of the database, or the file. `''`: it cannot be told. */
export async function serverOf(q: Query): Promise<string> {
  return q.kind === 'sqlite' ? fileOf(await sqlitePath(q)) : ((await askServer(q)) ?? '')
}

/** What is known of a server from two askings that do not contradict each other. */
export function knownServer(one: string, other: string): string {
  if (one === '' || other === '') return one || other
  const parts = other.split('/')
  return one
    .split('/')
    .map((part, index) => (part === UNKNOWN ? (parts[index] ?? UNKNOWN) : part))
    .join('/')
}

/** Identifies the database by what its own tools change in a copy. */
export async function originOf(q: Query): Promise<string> {
  if (q.kind === 'sqlite') return SQLITE_ORIGIN
  const { rows } = await sql<{ origin: string }>`select 'mirror_info'::regclass::oid::text as origin`.execute(q.sql)
  return rows[0]?.origin ?? ''
}

/** The path of a SQLite database; `''` when it has no file. */
export async function sqlitePath(q: Query): Promise<string> {
  const { rows } = await sql<{ file: string | null }>`select file from pragma_database_list where name = 'main'`.execute(q.sql)
  return rows[0]?.file ?? ''
}

/**
 * What no copy of a file shares with it: when the file came into being. It survives moves within a file system, restarts and changed device
 * numbers. Where the file system does not know that, the file's number on it.
 */
function fileOf(path: string): string {
  const found = path === '' ? undefined : statOf(path)
  if (found === undefined) return ''
  // Without a time of birth the system gives that of the last change.
  const born = found.birthtimeNs > 0n && found.birthtimeNs !== found.ctimeNs ? String(found.birthtimeNs) : UNKNOWN
  return `${born}/${born === UNKNOWN ? found.ino : UNKNOWN}`
}

function statOf(path: string): BigIntStats | undefined {
  try {
    return statSync(path, { bigint: true, throwIfNoEntry: false })
  } catch {
    return undefined
  }
}
