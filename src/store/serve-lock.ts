import { resolve } from 'node:path'
import Database from 'better-sqlite3'
import { BusyError } from '../errors.ts'
import type { DatabaseConfig } from './db.ts'
import { makeWritable } from './open.ts'
import { isBusy, sqliteError } from './sqlite-errors.ts'

/** The right to be the one `serve` on a SQLite database. */
export interface ServeLock {
  release(): void
}

/**
 * Locks held by this process. POSIX drops all locks that a process has on a file as soon as it closes any handle of
 * it, so the file is never opened a second time.
 */
const held = new Set<string>()

/**
 * Takes the lock that keeps a second `serve` out: an exclusive transaction on an empty database file beside the real one, which the
 * system ends with the process, however that ends. The file stays; only the lock on it means something.
 * @throws BusyError when another process has it; FatalError or TransientError when the file cannot be used.
 */
export async function holdServeLock(database: Extract<DatabaseConfig, { kind: 'sqlite' }>): Promise<ServeLock> {
  makeWritable(database.path)
  const path = `${resolve(database.path)}-serve`
  if (held.has(path)) throw inUse(database.path)
  held.add(path)
  let file: Database.Database | undefined
  try {
    file = new Database(path, { timeout: 0 })
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

function inUse(path: string): BusyError {
  return new BusyError(`another \`submission-mirror serve\` is using ${path}; stop it first, or use Postgres, on which several may run`)
}
