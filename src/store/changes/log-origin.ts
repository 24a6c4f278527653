import { type BigIntStats, statSync } from 'node:fs'
import { type RawBuilder, sql } from 'kysely'
import { askServer, UNKNOWN } from '../engine/checked-server.ts'
import type { Db, Query } from '../engine/db.ts'
import { sqlStateOf } from '../postgres/errors.ts'

/**
 * An epoch's `origin` reveals copies by tools that change it. A Postgres restore gives tables new oids; `backup` marks SQLite copies.
 * `server` reveals other copies: by system identifier and timeline on Postgres, by file on SQLite.
 */

/** `sync_log_epochs.origin` on SQLite: of a database in use, and of an unrestored backup. */
const SQLITE_ORIGIN = 'here'
export const COPY_ORIGIN = 'copy'

/** A promotion changes the timeline in WAL file names immediately, in `pg_control_checkpoint` only later. */
const TIMELINE = sql<string>`substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8)`

/** Ways to identify a server, best first. A managed service may deny these functions. */
const WAYS: readonly RawBuilder<string>[] = [
  sql<string>`(select system_identifier::text from pg_control_system()) || '/' || ${TIMELINE}`,
  sql<string>`'${sql.raw(UNKNOWN)}/' || ${TIMELINE}`,
  sql<string>`'${sql.raw(`${UNKNOWN}/${UNKNOWN}`)}'`,
]

/** SQLSTATEs of a function that does not exist, is not permitted or is not supported. */
const REFUSED = ['42883', '42501', '0A000']

/** Finds a working way to identify the Postgres server, once. @throws TransientError if the database is unavailable. */
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

/** Identity of the Postgres server or the SQLite file; `''` if unknown. */
export async function serverOf(q: Query): Promise<string> {
  return q.kind === 'sqlite' ? fileOf(await sqlitePath(q)) : ((await askServer(q)) ?? '')
}

/** Merges two compatible server identities. */
export function knownServer(one: string, other: string): string {
  if (one === '' || other === '') return one || other
  const parts = other.split('/')
  return one
    .split('/')
    .map((part, index) => (part === UNKNOWN ? (parts[index] ?? UNKNOWN) : part))
    .join('/')
}

/** A database id that backup tools change in a copy. */
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

/** Creation time, which differs in every copy; otherwise the inode. Device numbers are omitted, because they change. */
function fileOf(path: string): string {
  const found = path === '' ? undefined : statOf(path)
  if (found === undefined) return ''
  // Systems without creation times report the last change.
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
