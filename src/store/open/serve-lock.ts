import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import Database from 'better-sqlite3'
import { BusyError, PermanentError } from '../../base/errors.ts'
import type { DatabaseConfig } from '../engine/db.ts'
import { isBusy, sqliteError } from '../sqlite/errors.ts'
import { RECOVER_FILE } from '../sqlite/file-identity.ts'
import { makeWritable } from './open.ts'

/** The right to be the only `serve` or `restore` on a SQLite database. */
export interface ServeLock {
  release(): void
}

/**
 * Lock files that this process has locked.
 * If a process closes any handle of a file, the process loses all its POSIX locks on this file. Therefore, this process
 * never opens a locked file a second time.
 */
const held = new Set<string>()

/** Maximum wait for the lock in ms. A process that only checks the lock also locks the file, for a shorter time. */
const LOOK_MS = 250

/**
 * Prevents a second `serve` or `restore`. The lock is an exclusive transaction on the lock file, an empty database file
 * next to the database. The lock ends when it is released or the process ends. The lock file stays.
 * @throws BusyError if the lock is already taken; FatalError or TransientError if the lock file can't be used.
 */
export async function acquireServeLock(database: Extract<DatabaseConfig, { kind: 'sqlite' }>): Promise<ServeLock> {
  makeWritable(database.path)
  const path = lockFileOf(database)
  if (held.has(path)) throw inUse(database.path)
  held.add(path)
  let file: Database.Database | undefined
  try {
    file = new Database(path, { timeout: LOOK_MS })
    file.exec('begin exclusive')
  } catch (error) {
    file?.close()
    held.delete(path)
    throw isBusy(error) ? inUse(database.path) : sqliteError(error, path)
  }
  const lock = file
  return {
    release() {
      if (!held.delete(path)) return
      lock.close()
    },
  }
}

/**
 * @returns true if a process has the serve lock.
 * @throws FatalError or TransientError if the lock file can't be read.
 */
export function isServeLockHeld(database: Extract<DatabaseConfig, { kind: 'sqlite' }>): boolean {
  const path = lockFileOf(database)
  if (held.has(path)) return true
  if (!existsSync(path)) return false
  let file: Database.Database | undefined
  try {
    file = new Database(path, { readonly: true, timeout: 0 })
    file.exec('select 1 from sqlite_master')
    return false
  } catch (error) {
    if (isBusy(error)) return true
    throw sqliteError(error, path)
  } finally {
    file?.close()
  }
}

/**
 * Throws if the database file is missing while a process has the serve lock. If a new file were created, nobody would
 * notice that the old file is lost.
 * @throws PermanentError if the file is missing; FatalError or TransientError if the lock file can't be read.
 */
export function requireDatabaseFile(database: DatabaseConfig): void {
  if (database.kind !== 'sqlite' || existsSync(database.path) || !isServeLockHeld(database)) return
  throw new PermanentError(
    `there is no database at ${resolve(database.path)}, though \`serve\` or \`restore\` is running on it; if it has just started, try again; otherwise the file was deleted or moved: ${RECOVER_FILE}`,
  )
}

function lockFileOf({ path }: Extract<DatabaseConfig, { kind: 'sqlite' }>): string {
  return `${resolve(path)}-serve`
}

function inUse(path: string): BusyError {
  return new BusyError(`another process (\`serve\` or \`restore\`) is using ${path}; wait for it or stop it first`)
}
