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

/** Lock files that this process has locked. Closing any handle of a file drops all POSIX locks on it, so no file is opened twice. */
const held = new Set<string>()

/** Wait in ms. A process that only checks the lock holds it briefly. */
const LOOK_MS = 250

/**
 * Locks out a second `serve`, by an exclusive transaction on an empty database file next to the real one. The lock ends with the process;
 * the file stays.
 * @throws BusyError if another process holds the lock; FatalError or TransientError if the file cannot be used.
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

/** @returns whether a process holds the serve lock. @throws FatalError or TransientError if the file cannot be read. */
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
 * Refuses to create a database if a running `serve` lost its file. A new file would hide the loss and also lose its data.
 * @throws PermanentError if the file is missing while in use; FatalError or TransientError if the lock cannot be checked.
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
