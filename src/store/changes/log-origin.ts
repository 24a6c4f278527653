import { type BigIntStats, statSync } from 'node:fs'
import { type RawBuilder, sql } from 'kysely'
import { askServer, UNKNOWN } from '../engine/checked-server.ts'
import type { Db, Query } from '../engine/db.ts'
import { sqlStateOf } from '../postgres/errors.ts'

/**
 * Two columns of `sync_log_epochs` reveal that a database is a copy.
 * `origin`: on Postgres, the oid of a table. A restore changes this oid. On SQLite, the command `backup` marks the
 * copy.
 * `server`: identity of the server and its timeline on Postgres, or of the database file on SQLite. A changed identity
 * reveals other copies.
 */

/**
 * Values of `sync_log_epochs.origin`. `here`: a SQLite database in use.
 * `copy`: a backup, or a database after `releaseEpoch`.
 */
const SQLITE_ORIGIN = 'here'
export const COPY_ORIGIN = 'copy'

/**
 * SQL: the timeline of the Postgres server. After a promotion, WAL file names contain the new timeline immediately.
 * `pg_control_checkpoint` returns the new timeline only later.
 */
const TIMELINE = sql<string>`substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8)`

/** SQL expressions that identify a server, best first. A managed Postgres service may deny some of the functions. */
const WAYS: readonly RawBuilder<string>[] = [
  sql<string>`(select system_identifier::text from pg_control_system()) || '/' || ${TIMELINE}`,
  sql<string>`'${sql.raw(UNKNOWN)}/' || ${TIMELINE}`,
  sql<string>`'${sql.raw(`${UNKNOWN}/${UNKNOWN}`)}'`,
]

/** SQLSTATE codes for a function that doesn't exist, isn't permitted, or isn't supported. */
const REFUSED = ['42883', '42501', '0A000']

/**
 * Finds the SQL expression that identifies the Postgres server: the first of `WAYS` that works.
 * Stores the result in `db.seen`.
 * @throws TransientError if the database is unavailable.
 */
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

/** Identity of the Postgres server or of the SQLite file; `''` if unknown. */
export async function serverOf(q: Query): Promise<string> {
  return q.kind === 'sqlite' ? fileOf(await sqlitePath(q)) : ((await askServer(q)) ?? '')
}

/** Merges two identities of the same server. A part that is unknown in one identity comes from the other identity. */
export function knownServer(one: string, other: string): string {
  if (one === '' || other === '') return one || other
  const parts = other.split('/')
  return one
    .split('/')
    .map((part, index) => (part === UNKNOWN ? (parts[index] ?? UNKNOWN) : part))
    .join('/')
}

/**
 * The `origin` that an epoch gets if it begins in this database. If the current epoch has another `origin`, this
 * database is a copy.
 */
export async function originOf(q: Query): Promise<string> {
  if (q.kind === 'sqlite') return SQLITE_ORIGIN
  const row = await q.one(sql<{ origin: string }>`select 'mirror_info'::regclass::oid::text as origin`)
  return row?.origin ?? ''
}

/** Path of a SQLite database; `''` if the database has no file. */
export async function sqlitePath(q: Query): Promise<string> {
  const row = await q.one(sql<{ file: string | null }>`select file from pragma_database_list where name = 'main'`)
  return row?.file ?? ''
}

/**
 * Identifies a file by its creation time, which differs in every copy. Without a creation time, uses the inode.
 * Device numbers aren't used, because the device number of a file may change.
 */
function fileOf(path: string): string {
  const found = path === '' ? undefined : statOf(path)
  if (found === undefined) return ''
  // A system without creation times reports the time of the last change (`ctime`) instead.
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
