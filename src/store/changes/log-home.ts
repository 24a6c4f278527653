import { type BigIntStats, statSync } from 'node:fs'
import { type RawBuilder, sql } from 'kysely'
import { TransientError } from '../../base/errors.ts'
import type { Db, Query, Tx } from '../engine/db.ts'
import { sqlStateOf } from '../postgres/errors.ts'

/**
 * The home of a log epoch: the very database in which it began. `home` tells a copy that was made with tools that know of it (a restored
 * Postgres table has a new oid; on SQLite `backup` marks the copy). `server` tells what such tools cannot: on Postgres the system identifier
 * and the timeline, on SQLite the file.
 */

/** Values of `sync_log_epochs.home` on SQLite: a database in use, and a backup until it is restored. */
const SQLITE_HOME = 'here'
export const COPY_HOME = 'copy'

/** A part of `server` that cannot be told. It equals everything. */
const UNKNOWN = '-'

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

/** The way that a database answers; by its memory of the log, which lives as long as the database is open. */
const waysKnown = new WeakMap<object, RawBuilder<string>>()

/** Finds out once how a Postgres server can be asked. @throws TransientError when the database is away. */
export async function learnServer(db: Db): Promise<void> {
  if (db.kind === 'sqlite' || waysKnown.has(db.seen)) return
  for (const way of WAYS) {
    try {
      await sql`select ${way} as server`.execute(db.read.sql)
      waysKnown.set(db.seen, way)
      return
    } catch (error) {
      if (!REFUSED.includes(sqlStateOf(error) ?? '')) throw error
    }
  }
}

/** The server as an expression on Postgres, once `learnServer` has run. */
export function serverExpression(q: Query): RawBuilder<string> | undefined {
  return waysKnown.get(q.seen)
}

/** The server of the database, or the file. `''`: it cannot be told. */
export async function serverOf(q: Query): Promise<string> {
  if (q.kind === 'sqlite') return fileOf(await sqlitePath(q))
  const way = serverExpression(q)
  if (way === undefined) return ''
  const { rows } = await sql<{ server: string }>`select ${way} as server`.execute(q.sql)
  return rows[0]?.server ?? ''
}

/** Whether two servers are certainly different. */
export function isOtherServer(one: string, other: string): boolean {
  const parts = other.split('/')
  return one.split('/').some((part, index) => {
    const same = parts[index] ?? ''
    return part !== '' && same !== '' && part !== UNKNOWN && same !== UNKNOWN && part !== same
  })
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
export async function homeOf(q: Query): Promise<string> {
  if (q.kind === 'sqlite') return SQLITE_HOME
  const { rows } = await sql<{ home: string }>`select 'mirror_info'::regclass::oid::text as home`.execute(q.sql)
  return rows[0]?.home ?? ''
}

/** The server behind this transaction is not the one whose change log was checked. */
export class LogMovedError extends TransientError {
  constructor(what: string) {
    super(`${what}; nothing was written, and the change log is checked first (within seconds; docker/runbook.md, "A lost branch")`)
  }
}

/**
 * Refuses what would use numbers of the change log in a database that has not been checked: after a switch to another server, until
 * `checkLogEpoch` has looked. On SQLite the open file stays the same.
 * @param server from `serverExpression`, read in this transaction.
 * @throws LogMovedError
 */
export function requireServer(tx: Tx, server: string | undefined): void {
  const { server: checked } = tx.seen
  if (server === undefined || checked === null || !isOtherServer(server, checked)) return
  throw new LogMovedError(`the database is on another server or timeline (${server}) than before (${checked})`)
}

/** `requireServer` for a transaction that reads the server for nothing else. */
export async function requireCheckedServer(tx: Tx): Promise<void> {
  if (tx.kind === 'postgres' && serverExpression(tx) !== undefined) requireServer(tx, await serverOf(tx))
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
