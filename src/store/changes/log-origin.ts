import { type BigIntStats, statSync } from 'node:fs'
import { type RawBuilder, sql } from 'kysely'
import { askServer, UNKNOWN } from '../engine/checked-server.ts'
import type { Db, Query } from '../engine/db.ts'
import { sqlStateOf } from '../postgres/errors.ts'

/**
 * `origin` of an epoch reveals a copy made with tools that change it: a restored Postgres table has a new oid, and on SQLite `backup` marks the
 * copy. `server` reveals others: on Postgres by the system identifier and the timeline, on SQLite by the file.
 */

/** Values of `sync_log_epochs.origin` on SQLite: a database in use, and a backup until it is restored. */
const SQLITE_ORIGIN = 'here'
export const COPY_ORIGIN = 'copy'

/** WAL files are named after the timeline from the moment of a promotion on. `pg_control_checkpoint` lags behind. */
const TIMELINE = sql<string>`substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8)`

/** Ways to identify a server, best first: a managed service may refuse the functions. */
const WAYS: readonly RawBuilder<string>[] = [
  sql<string>`(select system_identifier::text from pg_control_system()) || '/' || ${TIMELINE}`,
  sql<string>`'${sql.raw(UNKNOWN)}/' || ${TIMELINE}`,
  sql<string>`'${sql.raw(`${UNKNOWN}/${UNKNOWN}`)}'`,
]

/** SQLSTATEs of a function that does not exist, is not permitted or is not supported. */
const REFUSED = ['42883', '42501', '0A000']

/** Finds once a way to identify a Postgres server that works. @throws TransientError when the database is unavailable. */
export async function identifyServer(db: Db): Promise<void> {
  if (db.kind === 'sqlite' || db.seen.serverExpression !== undefined) return
  for (const way of WAYS) {
    try {
      await db.read.run(sql`select ${way} as server`)
      db.seen.serverExpression = way
      return
    } catch (error) {
      if (!REFUSED.includes(sqlStateOf(error) ?? '')) throw error
    }
  }
}

/** The server of the database, or its file on SQLite; `''` when unknown. */
export async function serverOf(q: Query): Promise<string> {
  return q.kind === 'sqlite' ? fileOf(await sqlitePath(q)) : ((await askServer(q)) ?? '')
}

/** Merges two compatible answers about a server. */
export function knownServer(one: string, other: string): string {
  if (one === '' || other === '') return one || other
  const parts = other.split('/')
  return one
    .split('/')
    .map((part, index) => (part === UNKNOWN ? (parts[index] ?? UNKNOWN) : part))
    .join('/')
}

/** An id of the database that its own tools change in a copy. */
export async function originOf(q: Query): Promise<string> {
  if (q.kind === 'sqlite') return SQLITE_ORIGIN
  const row = await q.one(sql<{ origin: string }>`select 'mirror_info'::regclass::oid::text as origin`)
  return row?.origin ?? ''
}

/** The path of a SQLite database; `''` when it has no file. */
export async function sqlitePath(q: Query): Promise<string> {
  const row = await q.one(sql<{ file: string | null }>`select file from pragma_database_list where name = 'main'`)
  return row?.file ?? ''
}

/** When the file was created, which no copy shares; otherwise its inode. Device numbers change, so they are left out. */
function fileOf(path: string): string {
  const found = path === '' ? undefined : statOf(path)
  if (found === undefined) return ''
  // Without a creation time the system reports the last change.
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
