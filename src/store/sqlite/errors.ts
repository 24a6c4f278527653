import Database from 'better-sqlite3'
import { FatalError, TransientError } from '../../base/errors.ts'

const TRANSIENT: readonly (readonly [code: string, sentence: string])[] = [
  ['SQLITE_BUSY', 'is locked by another process'],
  ['SQLITE_LOCKED', 'is locked by another connection'],
  ['SQLITE_FULL', 'cannot grow: the disk is full'],
  // SQLite reports this for a full disk, if no other process has the database open.
  ['SQLITE_IOERR_SHMSIZE', 'cannot be opened: the disk is full, without space for the -shm file'],
  ['SQLITE_IOERR', 'cannot be read or written: the disk answers with an error'],
  ['SQLITE_READONLY', 'cannot be written: it is read-only'],
  ['SQLITE_CANTOPEN', 'cannot be opened'],
]

/** @returns whether another connection holds the lock. */
export function isBusy(error: unknown): boolean {
  return error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY')
}

/** @returns whether syncing earlier writes to the disk failed. */
export function isFailedSync(error: unknown): boolean {
  return error instanceof Database.SqliteError && error.code.endsWith('FSYNC')
}

/**
 * Translates an error of SQLite.
 * @returns TransientError if the database is locked, or if the disk or the file can't be used now. FatalError if the
 * file is damaged or isn't a database. Other errors are returned unchanged.
 */
export function sqliteError(error: unknown, path: string): unknown {
  if (!(error instanceof Database.SqliteError)) return error
  if (error.code.startsWith('SQLITE_CORRUPT') || error.code === 'SQLITE_NOTADB') {
    return new FatalError(`${path} is damaged or not an SQLite database (${error.message}); restore it from a backup`, { cause: error })
  }
  const known = TRANSIENT.find(([code]) => error.code.startsWith(code))
  return known ? new TransientError(`${path} ${known[1]} (${error.message})`, { cause: error }) : error
}
