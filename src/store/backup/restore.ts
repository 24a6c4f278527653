import { randomBytes } from 'node:crypto'
import { chmodSync, copyFileSync, existsSync, linkSync, realpathSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import Database from 'better-sqlite3'
import type { Clock } from '../../base/clock.ts'
import { syncFile, syncFolder } from '../../base/durable-file.ts'
import { BusyError, codeOf, FatalError, messageOf, PermanentError, UsageError } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import { beginLogEpoch, type NewEpoch } from '../changes/log-epoch.ts'
import type { DatabaseConfig } from '../engine/db.ts'
import { migrate } from '../migrate/migrate.ts'
import { openDb } from '../open/open.ts'
import { acquireServeLock } from '../open/serve-lock.ts'
import { auditedDb } from '../operators/actions.ts'
import { isBusy, sqliteError } from '../sqlite/errors.ts'
import { factsOf, faultOf, type SqliteFacts } from './facts.ts'

export interface Restored {
  /** Row counts and log ids of the backup, read before its migration. */
  readonly facts: SqliteFacts
  readonly migrated: readonly string[]
  readonly epoch: NewEpoch
  /** New path of the previous database; null if there was no previous database. */
  readonly previous: string | null
  /** New paths of the previous database's other files, such as its write-ahead log. */
  readonly leftovers: readonly string[]
}

const LOG_ENDINGS = ['-wal', '-shm', '-journal']

/**
 * Replaces a SQLite database with a backup. Records `who` in the audit entry.
 * Copies the backup, verifies and migrates the copy, and begins a new log epoch in the copy.
 * Then renames the previous database and moves the copy to `database.path`.
 * An error before the renaming changes nothing.
 * @param file path of the backup.
 * @throws BusyError if another process has the database open; UsageError if `file` is missing, isn't a file, or is the
 * database itself; PermanentError if the backup is damaged or can't be copied, for example if the disk is full.
 */
export async function restoreSqlite(
  database: Extract<DatabaseConfig, { kind: 'sqlite' }>,
  file: string,
  { clock, log, who }: { readonly clock: Clock; readonly log: Log; readonly who: string },
): Promise<Restored> {
  if (!existsSync(file)) throw new UsageError([`there is no file ${file}`])
  // `file` may be a symbolic link. A write-ahead log of the backup is next to the linked file.
  const [path, source] = [resolve(database.path), realpathSync(file)]
  if (!statSync(source).isFile()) throw new UsageError([`${file} is not a file; name the backup itself`])
  if (existsSync(path) && source === realpathSync(path)) throw new UsageError([`${file} is the database itself; name the backup`])
  const lock = await acquireServeLock(database)
  const fresh = `${path}.restore-${randomBytes(4).toString('hex')}`
  try {
    copyBeside(source, fresh, file)
    // The backup may be read-only, but the database must be writable.
    chmodSync(fresh, existsSync(path) ? statSync(path).mode & 0o777 : 0o640)
    const facts = verify(fresh, file)
    const db = await openDb({ kind: 'sqlite', path: fresh }, { clock, log })
    let made: Pick<Restored, 'migrated' | 'epoch'>
    try {
      const migrated = await migrate(db)
      made = { migrated, epoch: await beginLogEpoch(auditedDb(db, { who, action: 'restore', target: null, detail: { file } }), 'restore') }
    } finally {
      await db.close()
    }
    await syncFile(fresh)
    const kept = keepPrevious(path, clock)
    renameSync(fresh, path)
    await syncFolder(dirname(path))
    return { facts, ...made, ...kept }
  } finally {
    for (const ending of ['', '-mark', ...LOG_ENDINGS]) rmSync(`${fresh}${ending}`, { force: true })
    lock.release()
  }
}

const FULL = ['ENOSPC', 'EDQUOT']

function copyBeside(source: string, fresh: string, file: string): void {
  try {
    copyFileSync(source, fresh)
    if (existsSync(`${source}-wal`)) copyFileSync(`${source}-wal`, `${fresh}-wal`)
  } catch (error) {
    const full = FULL.includes(codeOf(error))
    const fix = full ? 'make room there for one more database' : 'check that this user may read the first and write the second'
    throw new PermanentError(
      `${file} cannot be restored: copying it to ${dirname(fresh)} failed (${messageOf(error)}); ${fix}; nothing was changed`,
    )
  }
}

function verify(fresh: string, file: string): SqliteFacts {
  let copy: Database.Database | undefined
  try {
    copy = new Database(fresh, { fileMustExist: true })
    const facts = factsOf(copy)
    const fault = faultOf(copy, facts)
    if (fault === null) return facts
    throw new PermanentError(`${file} cannot be restored: ${fault}; nothing was changed`)
  } catch (error) {
    const known = sqliteError(error, file)
    if (!(known instanceof FatalError)) throw known
    // The text of `sqliteError` advises restoring a backup. Here, the backup itself is damaged.
    throw new PermanentError(
      `${file} cannot be restored: it is damaged or not an SQLite database (${messageOf(error)}); name another backup; nothing was changed`,
    )
  } finally {
    copy?.close()
  }
}

/**
 * Keeps the previous database under a new name. If the file system has hard links, the file at `path` also stays until
 * the restored database replaces the file.
 * Also renames the previous database's write-ahead log and mark file.
 */
function keepPrevious(path: string, clock: Clock): Pick<Restored, 'previous' | 'leftovers'> {
  const stamp = new Date(clock.now()).toISOString().replace(/[-:]|\.\d+/g, '')
  const previous = freeName(`${path}.before-${stamp}`)
  const isThere = existsSync(path)
  if (isThere) linkOrRename(path, previous)
  // A write-ahead log remains only if the previous database is damaged or missing. The restored database must not use
  // this log or the old mark file.
  const endings = [...LOG_ENDINGS, '-mark'].filter((ending) => existsSync(`${path}${ending}`))
  for (const ending of endings) renameSync(`${path}${ending}`, `${previous}${ending}`)
  return { previous: isThere ? previous : null, leftovers: endings.map((ending) => `${previous}${ending}`) }
}

function linkOrRename(path: string, previous: string): void {
  foldLog(path)
  try {
    linkSync(path, previous)
  } catch {
    // Some file systems have no hard links.
    renameSync(path, previous)
  }
}

/** @returns `name`. If this file exists, because two restores ran in the same second, appends a number. */
function freeName(name: string): string {
  let free = name
  for (let n = 2; existsSync(free); n++) free = `${name}-${n}`
  return free
}

/**
 * Merges the write-ahead log into the database file. Does nothing if the database is damaged.
 * @throws BusyError if another process has the file open.
 */
function foldLog(path: string): void {
  let old: Database.Database | undefined
  try {
    old = new Database(path, { timeout: 0, fileMustExist: true })
    if (old.pragma('journal_mode = delete', { simple: true }) !== 'delete') throw inUse(path)
    // Without a write-ahead log, only an exclusive lock shows that another process uses the file.
    old.exec('begin exclusive')
    old.exec('rollback')
  } catch (error) {
    if (isBusy(error)) throw inUse(path)
    const known = sqliteError(error, path)
    if (!(known instanceof FatalError)) throw known
  } finally {
    old?.close()
  }
}

function inUse(path: string): BusyError {
  return new BusyError(`${path} is open in another process (\`fuser ${path}\` names it); end it first. Nothing was changed`)
}
