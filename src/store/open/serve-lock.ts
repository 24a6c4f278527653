import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import Database from 'better-sqlite3'
import { BusyError, PermanentError } from '../../base/errors.ts'
import type { DatabaseConfig } from '../engine/db.ts'
import { isBusy, sqliteError } from '../sqlite/errors.ts'
import { RECOVER_FILE } from '../sqlite/file-identity.ts'
import { makeWritable } from './open.ts'

/** The right to be the one `serve`, or `restore`, on a SQLite database. */
export interface ServeLock {
  release(): void
}

/**
 * Locks held by this process. POSIX drops all locks that a process has on a file as soon as it closes any handle of
 * it, so the file is never opened a second time.
 */
const held = new Set<string>()

/** Who only looks whether the lock is held keeps others from taking it for a moment. */
const LOOK_MS = 250

/**
 * Takes the lock that keeps a second `serve` out: an exclusive transaction on an empty database file beside the real one, which the
 * system ends with the process, however that ends. The file stays; only the lock on it means something.
 * @throws BusyError when another process has it; FatalError or TransientError when the file cannot be used.
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
 * Whether a process has that lock now.
 * @throws FatalError or TransientError when its file cannot be read.
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
 * A command that makes a database where a running `serve` has lost its own would hide that, and what it stores there would be lost as well.
 * @throws PermanentError when there is no file where one is in use; FatalError or TransientError when the lock cannot be looked at.
 */
export function requireDatabaseFile(database: DatabaseConfig): void {
  if (database.kind !== 'sqlite' || existsSync(database.path) || !isServeLockHeld(database)) return
  throw new PermanentError(
    `there is no database at ${resolve(database.path)}, though \`serve\` or \`restore\` is running on it; if that began just now, ask again, else it was deleted or moved: ${RECOVER_FILE}`,
  )
}

function lockFileOf({ path }: Extract<DatabaseConfig, { kind: 'sqlite' }>): string {
  return `${resolve(path)}-serve`
}

function inUse(path: string): BusyError {
  return new BusyError(
    `another process (\`serve\` or \`restore\`) is using ${path}; wait for it or stop it first, or use Postgres, on which several may run`,
  )
}
